// Lock, fence and data in one transaction of the caller's own.
#include "holdfast/sql.h"
#include "postgres_testing.h"

namespace holdfast::postgres_tests {
namespace {

using sql::Dialect;

std::string joined(const std::vector<std::string>& statements) {
  std::string text;
  for (const std::string& each : statements) text += each + ";";
  return text;
}

class PostgresTransaction : public testing::Test {
 protected:
  PostgresTransaction() {
    server.query(joined(sql::tables(Dialect::postgres)));
    server.query(
        "CREATE TABLE ledger (id INT PRIMARY KEY, total INT NOT NULL);"
        "INSERT INTO ledger VALUES (1, 0)");
  }
  test::PostgresServer server;
};

TEST_F(PostgresTransaction, TheLockExcludesLeasesUntilTheCommit) {
  Client client = Client::open(server.url() + "?recipe=advisory").value();
  const std::string lock = joined(sql::lock_in_transaction(Dialect::postgres, "in tx"));
  const std::uint64_t token = std::stoull(server.query(lock));  // One transaction, committed.
  Result<Lease> lease = client.mutex("in tx").try_acquire();
  ASSERT_TRUE(lease) << lease.message();
  EXPECT_GT(lease->token().value(), token);
  EXPECT_THROW(server.query("SET lock_timeout = '100ms';" + lock), std::runtime_error);
  ASSERT_TRUE(lease->release());
  EXPECT_GT(std::stoull(server.query(lock)), token);
}

TEST_F(PostgresTransaction, AFenceRefusesTheOldHolder) {
  const auto admit = [&](std::uint64_t token) {
    return server.query(joined(sql::admit(Dialect::postgres, "ledger", Token(token))));
  };
  EXPECT_EQ(admit(33), "1");
  EXPECT_EQ(admit(34), "1");
  EXPECT_EQ(admit(33), "0");
  EXPECT_EQ(admit(34), "1");
}

}  // namespace
}  // namespace holdfast::postgres_tests
