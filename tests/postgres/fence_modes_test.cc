// Readers and writers at the fence of sql.h, and programs without modes beside them.
#include <future>
#include <random>

#include "fence/lock_history_testing.h"
#include "holdfast/sql.h"
#include "postgres_testing.h"

namespace holdfast::postgres_tests {
namespace {

using sql::Dialect;

Ticket reader(std::uint64_t token) { return {Token(token), Mode::shared}; }
Ticket writer(std::uint64_t token) { return {Token(token), Mode::exclusive}; }

std::string joined(const std::vector<std::string>& statements) {
  std::string text;
  for (const std::string& each : statements) text += each + ";";
  return text;
}

class PostgresFenceModes : public testing::Test {
 protected:
  PostgresFenceModes() {
    client_.value(joined(sql::tables(Dialect::postgres)));
    client_.value("DELETE FROM holdfast_fence; DELETE FROM holdfast_fence_writer");
  }

  // In a transaction of its own, which is committed also if it was refused.
  bool enter(const Ticket& ticket) {
    const std::string cell = client_.value(joined(sql::admit(Dialect::postgres, "ledger", ticket)));
    EXPECT_TRUE(cell == "0" || cell == "1") << cell;
    return cell == "1";
  }
  // The statement of earlier versions.
  bool old_enter(Token token) {
    return client_.value(
               "INSERT INTO holdfast_fence AS f (resource_key, resource, token)"
               " VALUES (sha256('ledger'), 'ledger', " +
               token.str() +
               ") ON CONFLICT (resource_key) DO UPDATE"
               " SET token = GREATEST(f.token, excluded.token)"
               " RETURNING CASE WHEN f.token = " +
               token.str() + " THEN 1 ELSE 0 END") == "1";
  }

  PostgresServer& server_ = shared_server();
  test::PostgresClient client_{"127.0.0.1", server_.port()};
};

TEST_F(PostgresFenceModes, AnswersAsTheHistoryDemands) {
  for (const char* level : {"read committed", "serializable"}) {
    client_.value("DELETE FROM holdfast_fence; DELETE FROM holdfast_fence_writer");
    client_.value(std::string("SET default_transaction_isolation = '") + level + "'");
    fence_testing::expect_fence_of(std::random_device()(), 400,
                                   [this](const Ticket& ticket) { return enter(ticket); });
  }
}

TEST_F(PostgresFenceModes, WithAnEarlierVersionInTurnNobodyLateIsAdmittedAndNoValidWriterRefused) {
  fence_testing::expect_fence_of_two_versions(
      std::random_device()(), 400, [this](const Ticket& ticket) { return enter(ticket); },
      [this](Token token) { return old_enter(token); });
}

TEST_F(PostgresFenceModes, AMarkOfOneNumberCountsAsBoth) {
  EXPECT_TRUE(old_enter(Token(33)));
  EXPECT_FALSE(enter(reader(32)));
  EXPECT_TRUE(enter(reader(35)));
  EXPECT_TRUE(enter(reader(34)));
  EXPECT_FALSE(enter(reader(32)));
  EXPECT_FALSE(old_enter(Token(34)));
  EXPECT_TRUE(old_enter(Token(40)));
  EXPECT_FALSE(enter(reader(39)));
}

TEST_F(PostgresFenceModes, ATokenShownAsSharedThenAsExclusiveShutsLateReadersOut) {
  EXPECT_TRUE(enter(writer(3)));
  EXPECT_TRUE(enter(reader(5)));
  EXPECT_TRUE(enter(reader(7)));
  EXPECT_TRUE(enter(writer(7)));
  EXPECT_FALSE(enter(reader(5)));
}

// The least of users: it may use the tables, and neither create nor alter any.
TEST_F(PostgresFenceModes, AUserWithTheDocumentedRightsIsEnough) {
  client_.value(
      "CREATE ROLE app; GRANT SELECT, INSERT, UPDATE ON holdfast_fence, holdfast_fence_writer TO "
      "app");
  client_.value("SET ROLE app");
  EXPECT_TRUE(enter(reader(5)));
  EXPECT_TRUE(enter(reader(4)));
  EXPECT_TRUE(enter(writer(6)));
  EXPECT_FALSE(enter(reader(5)));
  client_.value("RESET ROLE");
  client_.value("DROP OWNED BY app; DROP ROLE app");
}

TEST_F(PostgresFenceModes, AMissingTableIsNamedByTheServer) {
  client_.value("DROP TABLE holdfast_fence_writer");
  try {
    enter(writer(5));
    ADD_FAILURE() << "admitted without its table";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("holdfast_fence_writer"));
  }
  client_.value(joined(sql::tables(Dialect::postgres)));
  EXPECT_TRUE(enter(writer(5)));
}

// A reader waits while another transaction is at the resource, and then sees what that one did.
TEST_F(PostgresFenceModes, AReaderThatWaitedIsMeasuredByTheWriterThatItWaitedFor) {
  EXPECT_TRUE(enter(reader(5)));
  client_.value("BEGIN");
  EXPECT_TRUE(enter(writer(6)));
  std::future<std::string> late = std::async(std::launch::async, [&] {
    return server_.query(joined(sql::admit(Dialect::postgres, "ledger", reader(5))));
  });
  ASSERT_TRUE(eventually(
      [&] { return client_.value("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1"; }));
  client_.value("COMMIT");
  EXPECT_EQ(late.get(), "0");
}

}  // namespace
}  // namespace holdfast::postgres_tests
