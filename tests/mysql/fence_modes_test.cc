// Readers and writers at the fence of sql.h, and programs without modes beside them.
#include "fence_modes.h"
#include "mysql_testing.h"

namespace holdfast::mysql_tests {
namespace {

using sql::Dialect;

class MysqlFenceModes : public MysqlTest {
 protected:
  void SetUp() override {
    for (const std::string& text : sql::tables(Dialect::mysql)) client_.query(text);
    client_.query("DELETE FROM holdfast_fence");
    client_.query("DELETE FROM holdfast_fence_writer");
  }
  // In a transaction of its own, which is committed also if it was refused.
  bool enter(const Ticket& ticket) { return enter(client_, ticket); }
  static bool enter(MariadbClient& client, const Ticket& ticket) {
    client.query("BEGIN");
    const std::string cell = run(client, sql::admit(Dialect::mysql, "ledger", ticket));
    client.query("COMMIT");
    EXPECT_TRUE(cell == "0" || cell == "1") << cell;
    return cell == "1";
  }
  // The cell that the last of the statements returns.
  static std::string run(MariadbClient& client, const std::vector<std::string>& statements) {
    std::string cell;
    for (const std::string& text : statements) {
      const MariadbClient::Rows rows = client.query(text);
      cell = rows.empty() ? "" : rows[0][0];
    }
    return cell;
  }
  // The statements of earlier versions.
  bool old_enter(Token token) {
    client_.query("BEGIN");
    client_.query(
        "INSERT INTO holdfast_fence (resource_key, resource, token) VALUES "
        "(UNHEX(SHA2('ledger', 256)), 'ledger', " +
        token.str() + ") ON DUPLICATE KEY UPDATE token = GREATEST(token, VALUES(token))");
    const std::string cell =
        client_.value("SELECT token = " + token.str() +
                      " FROM holdfast_fence WHERE resource_key = UNHEX(SHA2('ledger', 256)) FOR "
                      "UPDATE");
    client_.query("COMMIT");
    return cell == "1";
  }

  const Enter enter_ = [this](const Ticket& ticket) { return enter(ticket); };
  const OldEnter old_enter_ = [this](Token token) { return old_enter(token); };
  MariadbClient client_{server().port(), "holdfast"};
};

TEST_F(MysqlFenceModes, AnswersAsTheHistoryDemands) {
  for (const char* level : {"REPEATABLE READ", "READ COMMITTED"}) {
    SetUp();
    client_.query(std::string("SET SESSION TRANSACTION ISOLATION LEVEL ") + level);
    expect_fence_of_any_history(enter_);
  }
}

TEST_F(MysqlFenceModes, WithAnEarlierVersionInTurnNobodyLateIsAdmittedAndNoValidWriterRefused) {
  expect_fence_beside_an_earlier_version(enter_, old_enter_);
}

TEST_F(MysqlFenceModes, AMarkOfOneNumberCountsAsBoth) {
  expect_a_mark_of_one_number_to_count_as_both(enter_, old_enter_);
}

TEST_F(MysqlFenceModes, ATokenShownAsSharedThenAsExclusiveShutsLateReadersOut) {
  expect_an_upgraded_token_to_shut_late_readers_out(enter_);
}

// A snapshot that was taken before the mark was raised must not hide that.
TEST_F(MysqlFenceModes, ATransactionThatHasReadBeforeSeesTheMarkOfNow) {
  EXPECT_TRUE(enter(writer(3)));
  MariadbClient late(server().port(), "holdfast");
  for (const Ticket& ticket : {reader(5), writer(5)}) {
    late.query("BEGIN");
    late.query("SELECT * FROM holdfast_fence");
    late.query("SELECT * FROM holdfast_fence_writer");
    EXPECT_TRUE(enter(writer(ticket.mode == Mode::shared ? 6 : 7)));
    // Newer MariaDB refuses such a transaction altogether (1020): as good.
    std::string cell = "0";
    try {
      cell = run(late, sql::admit(Dialect::mysql, "ledger", ticket));
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("has changed"));
    }
    EXPECT_EQ(cell, "0");
    late.query("ROLLBACK");
  }
}

TEST_F(MysqlFenceModes, ReadersAndWritersOfDifferentResourcesDoNotWaitForEachOther) {
  MariadbClient other(server().port(), "holdfast");
  other.query("SET SESSION innodb_lock_wait_timeout = 5");
  client_.query("BEGIN");
  EXPECT_EQ(run(client_, sql::admit(Dialect::mysql, "one", writer(5))), "1");
  for (const char* name : {"two", "three", "four", "five"}) {
    other.query("BEGIN");
    EXPECT_EQ(run(other, sql::admit(Dialect::mysql, name, reader(5))), "1");
    other.query("COMMIT");
  }
  client_.query("COMMIT");
}

TEST_F(MysqlFenceModes, AMissingTableIsNamedByTheServer) {
  client_.query("DROP TABLE holdfast_fence_writer");
  expect_the_missing_table_to_be_named(enter_);
  client_.query("ROLLBACK");
  SetUp();
  EXPECT_TRUE(enter(writer(5)));
}

TEST(MysqlFencePermits, APermitAndNoTokenAreInvalid) {
  EXPECT_THROW(sql::admit(Dialect::mysql, "ledger", {Token(5), Mode::permit}), LockError);
  EXPECT_THROW(sql::admit(Dialect::postgres, "ledger", Token()), LockError);
}

}  // namespace
}  // namespace holdfast::mysql_tests
