// Readers and writers at the fence of sql.h, and programs without modes beside them.
#include <future>

#include "fence_modes.h"
#include "postgres_testing.h"

namespace holdfast::postgres_tests {
namespace {

using sql::Dialect;

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

  const Enter enter_ = [this](const Ticket& ticket) { return enter(ticket); };
  const OldEnter old_enter_ = [this](Token token) { return old_enter(token); };
  PostgresServer& server_ = shared_server();
  test::PostgresClient client_{"127.0.0.1", server_.port()};
};

TEST_F(PostgresFenceModes, AnswersAsTheHistoryDemands) {
  for (const char* level : {"read committed", "serializable"}) {
    client_.value("DELETE FROM holdfast_fence; DELETE FROM holdfast_fence_writer");
    client_.value(std::string("SET default_transaction_isolation = '") + level + "'");
    expect_fence_of_any_history(enter_);
  }
}

TEST_F(PostgresFenceModes, WithAnEarlierVersionInTurnNobodyLateIsAdmittedAndNoValidWriterRefused) {
  expect_fence_beside_an_earlier_version(enter_, old_enter_);
}

TEST_F(PostgresFenceModes, AMarkOfOneNumberCountsAsBoth) {
  expect_a_mark_of_one_number_to_count_as_both(enter_, old_enter_);
}

TEST_F(PostgresFenceModes, ATokenShownAsSharedThenAsExclusiveShutsLateReadersOut) {
  expect_an_upgraded_token_to_shut_late_readers_out(enter_);
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
  expect_the_missing_table_to_be_named(enter_);
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
