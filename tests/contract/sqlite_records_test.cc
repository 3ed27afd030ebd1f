// The table of records in a SQLite file: made with the first one, on the disk when it is stored, and what a full disk
// does to it.
#include <sys/mount.h>

#include <fstream>

#include "records.h"
#include "sqlite_testing.h"

namespace holdfast::contract {
namespace {

constexpr const char* kTables =
    "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'record'";

class SqliteRecordsTest : public SqliteTest {};

TEST_F(SqliteRecordsTest, AFileWithoutTheTableIsReadAndGetsItWithTheFirstRecord) {
  ASSERT_EQ(outcome_of(open().mutex("x").try_acquire()), "granted");
  Records early(url());
  EXPECT_EQ(said(early.read("x")), "none");
  EXPECT_EQ(said(early.swap("x", "1", "2")), "false");
  EXPECT_EQ(said(early.swap("x", "1", std::nullopt)), "true");
  ASSERT_EQ(Backdoor(file()).number(kTables), 0) << "a file is not changed by looking at it";
  Records late(url());
  EXPECT_EQ(said(late.swap("x", std::nullopt, "1")), "true");
  EXPECT_EQ(Backdoor(file()).number(kTables), 1);
  EXPECT_EQ(said(early.read("x")), "'1'");
  EXPECT_EQ(Backdoor(file()).number("SELECT user_version FROM pragma_user_version"), 2)
      << "an older Holdfast would refuse it";
}

TEST_F(SqliteRecordsTest, TheyStayWhenEverybodyHasLeft) {
  ASSERT_EQ(said(Records(url()).swap("x", std::nullopt, "1")), "true");
  EXPECT_EQ(said(Records(url()).read("x")), "'1'");
  // And when the machine was started anew.
  Backdoor(file()).execute("UPDATE meta SET boot = 'another'");
  EXPECT_EQ(said(Records(url()).read("x")), "'1'");
}

TEST_F(SqliteRecordsTest, LocksAreCommittedAsBeforeBehindARecord) {
  Records records(url());
  ASSERT_EQ(said(records.swap("x", std::nullopt, "1")), "true");
  EXPECT_EQ(outcome_of(records.client().mutex("x").try_acquire()), "granted");
  // A stranger writes: the swap waits, and is not refused.
  Backdoor stranger(file());
  stranger.execute("BEGIN IMMEDIATE");
  auto waiting = std::async(std::launch::async, [&] { return records.swap("x", "1", "2"); });
  pause_for(50ms);
  EXPECT_FALSE(is_ready(waiting));
  stranger.execute("COMMIT");
  EXPECT_EQ(said(waiting.get()), "true");
}

TEST_F(SqliteRecordsTest, AFullDiskIsToldAndTheOldRecordStays) {
  const std::filesystem::path small = folder() / "small";
  std::filesystem::create_directory(small);
  if (mount("tmpfs", small.c_str(), "tmpfs", 0, "size=512k") != 0) {
    GTEST_SKIP() << "cannot mount a small file system here";
  }
  {
    Records records("sqlite://" + (small / "locks.db").string());
    ASSERT_EQ(said(records.swap("x", std::nullopt, "0")), "true");
    {
      std::ofstream filler(small / "filler", std::ios::binary);
      const std::string block(4096, 'f');
      while (filler.write(block.data(), 4096).flush()) {
      }
    }
    Result<bool> swapped = true;
    for (int i = 0; i < 2000 && swapped; ++i) {
      swapped = records.swap("y" + std::to_string(i), std::nullopt, std::string(2000, 'v'));
    }
    EXPECT_EQ(outcome_of(swapped), "unreachable");
    EXPECT_THAT(swapped.message(), testing::HasSubstr("full"));
    EXPECT_EQ(said(records.read("x")), "'0'");
    std::filesystem::remove(small / "filler");
    EXPECT_EQ(said(records.swap("x", "0", "1")), "true");
  }
  umount2(small.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace holdfast::contract
