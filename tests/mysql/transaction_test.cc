// Lock, fence and data in one transaction of the caller's own.
#include "holdfast/sql.h"
#include "mysql_testing.h"

namespace holdfast::mysql_tests {
namespace {

using sql::Dialect;

class MysqlTransaction : public MysqlTest {
 protected:
  void SetUp() override {
    MariadbClient setup(server().port(), "holdfast");
    for (const std::string& text : sql::tables(Dialect::mysql)) setup.query(text);
    setup.query("CREATE TABLE IF NOT EXISTS ledger (id INT PRIMARY KEY, total INT NOT NULL)");
    setup.query("REPLACE INTO ledger VALUES (1, 0)");
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
  static std::string total() { return server().value("SELECT total FROM holdfast.ledger"); }
};

TEST_F(MysqlTransaction, TheLockIsHeldUntilTheCommitAndExcludesLeases) {
  MariadbClient mine(server().port(), "holdfast");
  Client client = open(server().url("recipe=row"));
  mine.query("BEGIN");
  const std::string token = run(mine, sql::lock_in_transaction(Dialect::mysql, "in tx"));
  EXPECT_NE(token, "");
  Mutex mutex = client.mutex("in tx", kLong);
  EXPECT_EQ(outcome_of(mutex.try_acquire()), "busy");
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  mine.query("COMMIT");
  ASSERT_TRUE(arrives(waiting));
  const Result<Lease> lease = waiting.get();
  ASSERT_EQ(told(lease), "granted");
  EXPECT_GT(lease->token().value(), std::stoull(token));
}

// Scenario 3: the write is on its way for a minute and a half. Its transaction has ended by then.
TEST_F(MysqlTransaction, ADelayedWriteOfAHolderThatWasCutOffChangesNothing) {
  MariadbClient a(server().port(), "holdfast");
  a.query("BEGIN");
  run(a, sql::lock_in_transaction(Dialect::mysql, "delayed"));
  EXPECT_EQ(a.value("SELECT total FROM ledger"), "0");
  // The server gives a up, as it does with a session that says nothing for too long.
  server().query("KILL " + a.value("SELECT CONNECTION_ID()"));
  MariadbClient b(server().port(), "holdfast");
  b.query("BEGIN");
  run(b, sql::lock_in_transaction(Dialect::mysql, "delayed"));
  b.query("UPDATE ledger SET total = total + 10");
  b.query("COMMIT");
  EXPECT_THROW(a.query("UPDATE ledger SET total = 1"), std::runtime_error);
  EXPECT_EQ(total(), "10");
}

TEST_F(MysqlTransaction, ADelayedWriteOfAHolderThatLivesIsWaitedFor) {
  MariadbClient a(server().port(), "holdfast");
  MariadbClient b(server().port(), "holdfast");
  a.query("BEGIN");
  run(a, sql::lock_in_transaction(Dialect::mysql, "delayed"));
  EXPECT_EQ(a.value("SELECT total FROM ledger"), "0");
  std::future<void> of_b = std::async(std::launch::async, [&] {
    b.query("BEGIN");
    run(b, sql::lock_in_transaction(Dialect::mysql, "delayed"));
    b.query("UPDATE ledger SET total = total + 10");
    b.query("COMMIT");
  });
  EXPECT_EQ(of_b.wait_for(500ms), std::future_status::timeout) << "B did not wait";
  a.query("UPDATE ledger SET total = 1");
  a.query("COMMIT");
  of_b.get();
  EXPECT_EQ(total(), "11");
}

// Scenario 1: A is paused after its last check; B writes; A wakes and writes.
TEST_F(MysqlTransaction, AFenceRefusesTheOldHoldersReadAndWrite) {
  MariadbClient a(server().port(), "holdfast");
  MariadbClient b(server().port(), "holdfast");
  a.query("BEGIN");
  EXPECT_EQ(run(a, sql::admit(Dialect::mysql, "ledger", Token(33))), "1");
  a.query("COMMIT");
  b.query("BEGIN");
  EXPECT_EQ(run(b, sql::admit(Dialect::mysql, "ledger", Token(34))), "1");
  b.query("UPDATE ledger SET total = 34");
  b.query("COMMIT");
  a.query("BEGIN");
  EXPECT_EQ(run(a, sql::admit(Dialect::mysql, "ledger", Token(33))), "0");
  a.query("ROLLBACK");
  b.query("BEGIN");
  EXPECT_EQ(run(b, sql::admit(Dialect::mysql, "ledger", Token(34))), "1") << "the same token again";
  b.query("COMMIT");
  EXPECT_EQ(total(), "34");
}

}  // namespace
}  // namespace holdfast::mysql_tests
