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
  // A transaction of `client` that has the lock, and has read.
  static void lock_and_read(test::PostgresClient& client) {
    client.value("BEGIN");
    client.value(joined(sql::lock_in_transaction(Dialect::postgres, "delayed")));
    ASSERT_EQ(client.value("SELECT total FROM ledger"), "0");
  }
  static void add_ten(test::PostgresClient& client) {
    client.value("BEGIN");
    client.value(joined(sql::lock_in_transaction(Dialect::postgres, "delayed")));
    client.value("UPDATE ledger SET total = total + 10");
    client.value("COMMIT");
  }

  test::PostgresServer server;
  test::PostgresClient a{"127.0.0.1", server.port()};
  test::PostgresClient b{"127.0.0.1", server.port()};
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

// Scenario 3: the write is on its way for a minute and a half. Its transaction has ended by then.
TEST_F(PostgresTransaction, ADelayedWriteOfAHolderThatWasCutOffChangesNothing) {
  a.value("SET idle_in_transaction_session_timeout = '1s'");
  lock_and_read(a);
  add_ten(b);  // Waits until the server has ended A's session.
  EXPECT_THROW(a.value("UPDATE ledger SET total = 1"), std::runtime_error);
  EXPECT_EQ(server.query("SELECT total FROM ledger"), "10");
}

TEST_F(PostgresTransaction, ADelayedWriteOfAHolderThatLivesIsWaitedFor) {
  lock_and_read(a);
  std::future<void> of_b = std::async(std::launch::async, [&] { add_ten(b); });
  EXPECT_EQ(of_b.wait_for(500ms), std::future_status::timeout) << "B did not wait";
  a.value("UPDATE ledger SET total = 1");
  a.value("COMMIT");
  of_b.get();
  EXPECT_EQ(server.query("SELECT total FROM ledger"), "11");
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
