// Marks of programs without modes, and such programs on marks that have them: what a rolling
// upgrade meets. The old programs are played here, byte by byte and statement by statement.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <array>
#include <random>
#include <string>

#include "base/text.h"
#include "fence/fence_testing.h"
#include "fence/file_mark.h"
#include "fence/fnv1a.h"
#include "fence/lock_history_testing.h"
#include "holdfast/fence.h"

namespace holdfast {
namespace {

using fence_testing::expect_fence_of_two_versions;
using fence_testing::reader;
using fence_testing::slurp;
using fence_testing::spill;
using fence_testing::TempDir;
using internal::fence::fnv1a;

constexpr std::size_t kStride = 4096;
constexpr std::size_t kOldSlot = 24;

class Version {
 public:
  virtual ~Version() = default;
  virtual FenceGate open() = 0;             // the present one
  virtual bool old_enter(Token token) = 0;  // the earlier one
  virtual std::uint64_t old_mark() = 0;     // as it sees it
  virtual void make_as_before(Token token) = 0;
};

// ---- The file -----------------------------------------------------------------------------------

std::string word(std::uint64_t number) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
  return bytes;
}

std::string old_slot(std::size_t slot, std::uint64_t mark) {
  const std::string bytes = "HFfence1" + word(mark);
  return bytes + word(fnv1a(bytes, slot));
}

class FileVersion final : public Version {
 public:
  FenceGate open() override { return FenceGate::in_file(path_).value(); }
  std::uint64_t old_mark() override {
    const auto marks = old_marks();
    return std::max(marks[0], marks[1]);
  }
  bool old_enter(Token token) override {
    const auto marks = old_marks();
    const std::size_t newest = marks[0] >= marks[1] ? 0 : 1;
    if (token.value() < marks[newest]) return false;
    if (token.value() == marks[newest]) return true;
    const std::string bytes = old_slot(1 - newest, token.value());
    std::string image = slurp(path_);
    image.replace((1 - newest) * kStride, kOldSlot, bytes);
    spill(path_, image);
    return true;
  }
  void make_as_before(Token token) override {
    std::string image(2 * kStride, '\0');
    image.replace(0, kOldSlot, old_slot(0, token.value()));
    image.replace(kStride, kOldSlot, old_slot(1, 0));
    spill(path_, image);
  }

 private:
  std::array<std::uint64_t, 2> old_marks() const {
    const std::string image = slurp(path_);
    std::array<std::uint64_t, 2> marks{};
    for (std::size_t slot = 0; slot < 2; ++slot) {
      const std::string bytes = image.substr(slot * kStride, kOldSlot);
      for (std::size_t i = 8; i-- > 0;) {
        marks[slot] = marks[slot] << 8 | static_cast<unsigned char>(bytes.at(8 + i));
      }
      EXPECT_EQ(bytes, old_slot(slot, marks[slot])) << "the old program finds a damaged slot";
    }
    return marks;
  }

  TempDir dir_;
  std::filesystem::path path_ = dir_ / "x.fence";
};

// ---- SQLite -------------------------------------------------------------------------------------

class SqliteVersion final : public Version {
 public:
  SqliteVersion() { sqlite3_open(path_.c_str(), &raw_); }
  ~SqliteVersion() override { sqlite3_close(raw_); }
  FenceGate open() override { return FenceGate::in_sqlite(path_, "x").value(); }
  std::uint64_t old_mark() override {
    std::uint64_t mark = 0;
    run("SELECT CASE typeof(mark) WHEN 'integer' THEN mark END FROM holdfast_fence "
        "WHERE resource = x'78'",
        &mark);
    return mark;
  }
  bool old_enter(Token token) override {
    make_tables();
    if (token.value() < old_mark()) return false;
    const std::string number = token.str();
    run("UPDATE holdfast_fence SET mark = " + number +
        ", writes = writes + 1 WHERE resource = x'78' AND (mark < 0, mark) <= (" + number +
        " < 0, " + number + ")");
    return true;
  }
  void make_as_before(Token token) override {
    make_tables();
    run("UPDATE holdfast_fence SET mark = " + token.str());
  }

 private:
  void make_tables() {
    run("CREATE TABLE IF NOT EXISTS holdfast_fence(resource BLOB NOT NULL PRIMARY KEY, "
        "mark INTEGER NOT NULL, writes INTEGER NOT NULL) WITHOUT ROWID");
    run("INSERT OR IGNORE INTO holdfast_fence(resource, mark, writes) VALUES(x'78', 0, 0)");
  }
  void run(const std::string& sql, std::uint64_t* number = nullptr) {
    const auto read = [](void* out, int, char** columns, char**) {
      if (out != nullptr) *static_cast<std::uint64_t*>(out) = std::stoull(columns[0]);
      return 0;
    };
    ASSERT_EQ(sqlite3_exec(raw_, sql.c_str(), read, number, nullptr), SQLITE_OK)
        << sqlite3_errmsg(raw_);
  }

  TempDir dir_;
  std::filesystem::path path_ = dir_ / "x.db";
  sqlite3* raw_ = nullptr;
};

// ---- What holds of both -------------------------------------------------------------------------

template <class Store>
class MarkVersions : public ::testing::Test {
 protected:
  bool enter(const Ticket& ticket) {
    const auto pass = store_.open().enter(ticket);
    EXPECT_TRUE(pass || pass.code() == Code::stale_token) << pass.message();
    return pass.ok();
  }
  Store store_;
};
using Stores = ::testing::Types<FileVersion, SqliteVersion>;
TYPED_TEST_SUITE(MarkVersions, Stores);

TYPED_TEST(MarkVersions, AMarkOfOneNumberCountsAsBoth) {
  this->store_.make_as_before(Token(33));
  EXPECT_EQ(this->store_.open().mark().value(), Token(33));
  EXPECT_FALSE(this->enter(Token(32)));
  EXPECT_FALSE(this->enter(reader(32))) << "the 33 may have been a writer";
  EXPECT_TRUE(this->enter(reader(35)));
  EXPECT_TRUE(this->enter(reader(34)));
  EXPECT_FALSE(this->enter(reader(32))) << "the 33 is still remembered";
}

TYPED_TEST(MarkVersions, AnOldProgramSeesTheHighestOfAll) {
  EXPECT_TRUE(this->enter(Token(3)));
  EXPECT_TRUE(this->enter(reader(9)));
  EXPECT_TRUE(this->enter(reader(7)));
  EXPECT_EQ(this->store_.old_mark(), 9U);
  EXPECT_FALSE(this->store_.old_enter(Token(8)));
}

// The danger: it raises the number that it knows, and the other one would stay behind.
TYPED_TEST(MarkVersions, WhatAnOldProgramAdmitsCountsAsAWriter) {
  EXPECT_TRUE(this->enter(Token(3)));
  EXPECT_TRUE(this->enter(reader(9)));
  EXPECT_TRUE(this->store_.old_enter(Token(12)));
  EXPECT_FALSE(this->enter(reader(9)));
  EXPECT_FALSE(this->enter(reader(11)));
  EXPECT_TRUE(this->enter(reader(12)));
  EXPECT_TRUE(this->enter(reader(14)));
  EXPECT_TRUE(this->enter(reader(13)));
  EXPECT_TRUE(this->store_.old_enter(Token(15)));
  EXPECT_TRUE(this->enter(Token(16)));
  EXPECT_EQ(this->store_.old_mark(), 16U);
}

TYPED_TEST(MarkVersions, InTurnTheyAdmitNobodyLateAndRefuseNoValidWriter) {
  EXPECT_EQ(this->store_.open().mark().value(), Token(0));
  expect_fence_of_two_versions(
      std::random_device()(), 200, [this](const Ticket& ticket) { return this->enter(ticket); },
      [this](Token token) { return this->store_.old_enter(token); });
}

// The one case in which both slots have the same `newest`. An old program takes the first for the
// mark and overwrites the second; a power cut tears that write.
TEST(FileMarkVersions, TornWriteOfAnOldProgramNeverLosesTheWriter) {
  const TempDir dir;
  const std::filesystem::path path = dir / "x.fence";
  for (const std::uint64_t first : {6, 7}) {  // so that either slot is the last to be written
    std::filesystem::remove(path);
    {
      FenceGate gate = FenceGate::in_file(path).value();
      for (std::uint64_t token = 3; token <= first; ++token) ASSERT_TRUE(gate.enter(reader(token)));
      ASSERT_TRUE(gate.enter(Token(first)));
    }
    std::string image = slurp(path);
    image.replace(kStride, kOldSlot, std::string(kOldSlot, '?'));
    spill(path, image);
    FenceGate gate = FenceGate::in_file(path).value();
    EXPECT_FALSE(gate.enter(reader(first - 1))) << first;
    EXPECT_TRUE(gate.enter(reader(first))) << first;
  }
}

// Bytes that an earlier version wrote for 5 and then 6, recorded.
TEST(FileMarkVersions, TheBytesOfAnEarlierVersionAreRead) {
  const TempDir dir;
  std::string image(2 * kStride, '\0');
  image.replace(0, kOldSlot,
                bytes_from_hex("484666656e63653106000000000000009977378b4817bf1d").value());
  image.replace(kStride, kOldSlot,
                bytes_from_hex("484666656e6365310500000000000000eff4326aa58f8d82").value());
  spill(dir / "x.fence", image);
  FenceGate gate = FenceGate::in_file(dir / "x.fence").value();
  EXPECT_EQ(gate.mark().value(), Token(6));
  EXPECT_FALSE(gate.enter(reader(5)));
  EXPECT_TRUE(gate.enter(reader(6)));
  EXPECT_EQ(slurp(dir / "x.fence"), image) << "nothing to write";
}

}  // namespace
}  // namespace holdfast
