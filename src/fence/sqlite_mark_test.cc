// The mark in a SQLite table: beside its user's own tables, and when somebody meddles with it.
#include "fence/sqlite_mark.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>

#include "fence/fence_testing.h"
#include "holdfast/fence.h"

namespace holdfast {
namespace {

using fence_testing::spill;
using fence_testing::TempDir;

// The user's own connection.
class Database {
 public:
  explicit Database(const std::filesystem::path& path) { sqlite3_open(path.c_str(), &raw_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { sqlite3_close(raw_); }

  int run(const std::string& sql) {
    return sqlite3_exec(raw_, sql.c_str(), nullptr, nullptr, nullptr);
  }
  std::string text(const char* sql) {
    std::string result;
    sqlite3_exec(
        raw_, sql,
        [](void* out, int, char** columns, char**) {
          *static_cast<std::string*>(out) = columns[0] == nullptr ? "NULL" : columns[0];
          return 0;
        },
        &result, nullptr);
    return result;
  }

 private:
  sqlite3* raw_ = nullptr;
};

class SqliteMarkTest : public ::testing::Test {
 protected:
  FenceGate open(std::string_view resource = "ledger") {
    return FenceGate::in_sqlite(path_, resource).value();
  }

  TempDir dir_;
  std::filesystem::path path_ = dir_ / "app.db";
};

TEST_F(SqliteMarkTest, EachResourceHasItsOwnMarkAndLock) {
  using namespace std::string_view_literals;
  FenceGate ledger = open("ledger");
  FenceGate other = open("ledger\0 2"sv);
  auto inside = ledger.enter(Token(10)).value();
  EXPECT_TRUE(other.enter(Token(3)));  // would wait for ever if they shared a lock
  EXPECT_EQ(ledger.mark().value(), Token(10));
  EXPECT_EQ(other.mark().value(), Token(3));
}

class JournalMode : public SqliteMarkTest, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Every, JournalMode, ::testing::Values("delete", "truncate", "wal"));

TEST_P(JournalMode, TheUserWritesToTheSameDatabaseWhileInside) {
  Database mine(path_);
  ASSERT_EQ(mine.run(std::string("PRAGMA journal_mode = ") + GetParam()), SQLITE_OK);
  ASSERT_EQ(mine.run("CREATE TABLE ledger(sum); INSERT INTO ledger VALUES(1)"), SQLITE_OK);
  FenceGate gate = open();
  for (std::uint64_t token = 1; token <= 3; ++token) {
    auto pass = gate.enter(Token(token)).value();
    EXPECT_EQ(mine.run("BEGIN IMMEDIATE; UPDATE ledger SET sum = sum + 1; COMMIT"), SQLITE_OK);
  }
  EXPECT_EQ(mine.text("SELECT sum FROM ledger"), "4");
  EXPECT_EQ(mine.text("PRAGMA journal_mode"), GetParam()) << "it is the user's database";
}

TEST_F(SqliteMarkTest, MarkIsAPlainNumberInATable) {
  ASSERT_TRUE(open().enter(Token(33)));
  Database mine(path_);
  EXPECT_EQ(mine.text("SELECT mark FROM holdfast_fence WHERE resource = CAST('ledger' AS BLOB)"),
            "33");
}

TEST_F(SqliteMarkTest, TheWritersNumberIsInATableOfItsOwnWhileReadersAreNewer) {
  Database mine(path_);
  const char* const row = "SELECT writer || ' ' || newest FROM holdfast_fence_writer";
  ASSERT_TRUE(open().enter(Token(33)));
  EXPECT_EQ(mine.text(row), "") << "the mark says it all";
  ASSERT_TRUE(open().enter({Token(35), Mode::shared}));
  EXPECT_EQ(mine.text(row), "33 35");
  ASSERT_EQ(mine.run("UPDATE holdfast_fence_writer SET writer = 'many'"), SQLITE_OK);
  EXPECT_EQ(open().enter({Token(34), Mode::shared}).code(), Code::stale_token)
      << "what cannot be read is taken for the highest";
}

TEST_F(SqliteMarkTest, ADatabaseThatCannotBeUpgradedIsExplainedWithTheStatement) {
  Database mine(path_);
  ASSERT_EQ(mine.run("CREATE TABLE holdfast_fence(resource BLOB NOT NULL PRIMARY KEY, "
                     "mark INTEGER NOT NULL, writes INTEGER NOT NULL) WITHOUT ROWID"),
            SQLITE_OK);
  ASSERT_EQ(mine.run("CREATE INDEX holdfast_fence_writer ON holdfast_fence(mark)"), SQLITE_OK)
      << "the name is taken";
  const auto gate = FenceGate::in_sqlite(path_, "ledger");
  ASSERT_FALSE(gate);
  EXPECT_NE(gate.message().find("CREATE TABLE IF NOT EXISTS holdfast_fence_writer("),
            std::string::npos)
      << gate.message();
}

TEST_F(SqliteMarkTest, MarkThatSomebodyElseRaisedCounts) {
  FenceGate gate = open();
  ASSERT_TRUE(gate.enter(Token(33)));
  Database mine(path_);
  ASSERT_EQ(mine.run("UPDATE holdfast_fence SET mark = 40"), SQLITE_OK);
  EXPECT_EQ(gate.enter(Token(39)).code(), Code::stale_token);
}

TEST_F(SqliteMarkTest, MeddlingIsAnErrorNeverZero) {
  for (const char* harm : {"UPDATE holdfast_fence SET mark = 'many'", "DELETE FROM holdfast_fence",
                           "DROP TABLE holdfast_fence"}) {
    FenceGate gate = open();
    ASSERT_TRUE(gate.enter(Token(33)));
    Database mine(path_);
    ASSERT_EQ(mine.run(harm), SQLITE_OK);
    EXPECT_EQ(gate.enter(Token(32)).code(), Code::misconfigured) << harm;
    EXPECT_EQ(gate.mark().code(), Code::misconfigured) << harm;
    ASSERT_EQ(mine.run("DROP TABLE IF EXISTS holdfast_fence"), SQLITE_OK);
  }
}

TEST_F(SqliteMarkTest, VanishedDatabaseIsAnErrorAndIsNotCreatedAgain) {
  FenceGate gate = open();
  ASSERT_TRUE(gate.enter(Token(33)));
  std::filesystem::remove(path_);
  EXPECT_EQ(gate.enter(Token(32)).code(), Code::misconfigured);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SqliteMarkTest, UnusableDatabasesAreExplained) {
  spill(dir_ / "garbage", std::string(5000, 'x'));
  auto garbage = FenceGate::in_sqlite(dir_ / "garbage", "x");
  EXPECT_EQ(garbage.code(), Code::misconfigured);
  EXPECT_NE(garbage.message().find("garbage"), std::string::npos) << garbage.message();

  EXPECT_EQ(FenceGate::in_sqlite(dir_.path(), "x").code(), Code::misconfigured);
  EXPECT_EQ(FenceGate::in_sqlite(dir_ / "no" / "x.db", "x").code(), Code::misconfigured);
  EXPECT_EQ(FenceGate::in_sqlite(":memory:", "x").code(), Code::invalid_argument);
  EXPECT_EQ(FenceGate::in_sqlite("", "x").code(), Code::invalid_argument);
  EXPECT_EQ(FenceGate::in_sqlite(path_, "").code(), Code::invalid_argument);
  EXPECT_EQ(FenceGate::in_sqlite(path_, std::string(16385, 'x')).code(), Code::invalid_argument);
}

TEST_F(SqliteMarkTest, ForeignTableOfThatNameIsRefused) {
  Database mine(path_);
  ASSERT_EQ(mine.run("CREATE TABLE holdfast_fence(something)"), SQLITE_OK);
  EXPECT_EQ(FenceGate::in_sqlite(path_, "x").code(), Code::misconfigured);
}

}  // namespace
}  // namespace holdfast
