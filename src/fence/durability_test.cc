// Checks which bytes are on disk, and when. The calls that flush and rename are replaced by ones that take notes,
// and fail when told to.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "fence/fence_testing.h"
#include "fence/file_mark.h"
#include "holdfast/fence.h"

namespace {

// Set while a test listens; what it returns (0 or an errno) is what the call comes to.
std::function<int(const std::string& call)> listener;

std::string name_of(int fd) {
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  return std::filesystem::read_symlink(link).filename();
}

bool refused(const std::string& call) {
  const int error = listener ? listener(call) : 0;
  if (error != 0) errno = error;
  return error != 0;
}

}  // namespace

extern "C" {

int fsync(int fd) {
  if (listener && refused("flush " + name_of(fd))) return -1;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

int fdatasync(int fd) {
  if (listener && refused("flush " + name_of(fd))) return -1;
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

int rename(const char* from, const char* to) noexcept {
  if (listener && refused("rename to " + std::filesystem::path(to).filename().string())) return -1;
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

}  // extern "C"

namespace holdfast {
namespace {

using fence_testing::slurp;
using fence_testing::spill;
using fence_testing::TempDir;
using Calls = std::vector<std::string>;

class DurabilityTest : public ::testing::Test {
 protected:
  void TearDown() override { listener = nullptr; }

  template <class Body>
  Calls calls_of(Body body) {
    Calls calls;
    listener = [&](const std::string& call) {
      calls.push_back(call);
      return 0;
    };
    body();
    listener = nullptr;
    return calls;
  }
  void fail(const std::string& call, int error) {
    listener = [=](const std::string& made) { return made == call ? error : 0; };
  }

  TempDir dir_;
  std::string directory_ = dir_.path().filename();
  std::filesystem::path path_ = dir_ / "x";
  std::filesystem::path fence_ = dir_ / "x.fence";
};

TEST_F(DurabilityTest, NewFenceIsOnDiskWithItsName) {
  const Calls calls = calls_of([&] { EXPECT_TRUE(FenceGate::in_file(fence_)); });
  EXPECT_EQ(calls, (Calls{"flush x.fence.init", "rename to x.fence", "flush " + directory_,
                          "flush " + directory_}));
}

TEST_F(DurabilityTest, NameOfAFenceWhoseCreatorWasKilledIsFlushed) {
  spill(fence_, internal::fence::slots::initial_image());
  EXPECT_EQ(calls_of([&] { EXPECT_TRUE(FenceGate::in_file(fence_)); }),
            (Calls{"flush " + directory_}));
}

TEST_F(DurabilityTest, GrownMarkIsFlushedAndAKnownOneIsNot) {
  FenceGate gate = FenceGate::in_file(fence_).value();
  ASSERT_TRUE(gate.enter(Token(5)));
  EXPECT_EQ(calls_of([&] { EXPECT_TRUE(gate.enter(Token(6))); }), Calls{"flush x.fence"});
  EXPECT_EQ(calls_of([&] { EXPECT_TRUE(gate.enter(Token(6))); }), Calls{});
  EXPECT_EQ(calls_of([&] { EXPECT_FALSE(gate.enter(Token(5))); }), Calls{});
}

TEST_F(DurabilityTest, EitherNumberOfTheMarkIsFlushedWhenItGrows) {
  for (const bool sqlite : {false, true}) {
    FenceGate gate = sqlite ? FenceGate::in_sqlite(dir_ / "x.db", "x").value()
                            : FenceGate::in_file(fence_).value();
    const std::string flushed = sqlite ? "flush x.db" : "flush x.fence";
    const auto flushes = [&](const Ticket& ticket) {
      const Calls calls = calls_of([&] { EXPECT_TRUE(gate.enter(ticket)); });
      return std::count(calls.begin(), calls.end(), flushed);
    };
    ASSERT_TRUE(gate.enter(Token(5)));
    EXPECT_EQ(flushes({Token(8), Mode::shared}), 1) << "the highest of all";
    EXPECT_EQ(flushes({Token(7), Mode::shared}), 0) << "nothing has changed";
    EXPECT_EQ(flushes({Token(8), Mode::exclusive}), sqlite ? 1 : 2) << "the highest exclusive one";
    EXPECT_EQ(flushes({Token(8), Mode::exclusive}), 0);
  }
}

TEST_F(DurabilityTest, MarkOfAKilledWriterIsFlushedBeforeAnybodyReliesOnIt) {
  ASSERT_TRUE(FenceGate::in_file(fence_).value().enter(Token(5)));
  // Another object stands for another process: it cannot know whether the 5 was flushed.
  FenceGate gate = FenceGate::in_file(fence_).value();
  EXPECT_EQ(calls_of([&] { EXPECT_TRUE(gate.enter(Token(5))); }), Calls{"flush x.fence"});

  // Raised at once: the found mark is on disk before the other slot is touched.
  FenceGate third = FenceGate::in_file(fence_).value();
  std::string file_at_first_flush;
  listener = [&](const std::string&) {
    if (file_at_first_flush.empty()) file_at_first_flush = slurp(fence_);
    return 0;
  };
  const std::string before = slurp(fence_);
  EXPECT_TRUE(third.enter(Token(6)));
  EXPECT_EQ(file_at_first_flush, before);
}

TEST_F(DurabilityTest, FailedFlushOfTheMarkAdmitsNobody) {
  FenceGate gate = FenceGate::in_file(fence_).value();
  ASSERT_TRUE(gate.enter(Token(5)));
  fail("flush x.fence", EIO);
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto refused_entry = gate.enter(Token(6));
    ASSERT_FALSE(refused_entry);
    EXPECT_EQ(refused_entry.code(), Code::unreachable);
    EXPECT_NE(refused_entry.message().find(fence_), std::string::npos);
  }
  listener = nullptr;
  EXPECT_TRUE(gate.enter(Token(6)));
}

TEST_F(DurabilityTest, SqliteMarkIsFlushedWhenItGrowsAndNotWhenItIsKnown) {
  FenceGate gate = FenceGate::in_sqlite(dir_ / "x.db", "x").value();
  const Calls grown = calls_of([&] { EXPECT_TRUE(gate.enter(Token(5))); });
  EXPECT_EQ(std::count(grown.begin(), grown.end(), "flush x.db"), 1);
  EXPECT_EQ(grown.back(), "flush " + directory_) << "synchronous = EXTRA: the journal is gone";
  EXPECT_EQ(calls_of([&] { EXPECT_TRUE(gate.enter(Token(5))); }), Calls{});

  FenceGate twin = FenceGate::in_sqlite(dir_ / "x.db", "x").value();
  const Calls unsure = calls_of([&] { EXPECT_TRUE(twin.enter(Token(5))); });
  EXPECT_EQ(unsure, grown) << "the mark of another process may not be on disk yet";
}

TEST_F(DurabilityTest, ReplacedFileIsFlushedThenRenamedThenItsName) {
  FencedFile file = FencedFile::open(path_).value();
  EXPECT_EQ(calls_of([&] { EXPECT_TRUE(file.replace(Token(1), "new")); }),
            (Calls{"flush x.fence", "flush x.fence.new", "rename to x", "flush " + directory_}));
}

TEST_F(DurabilityTest, FailureBeforeTheRenameLeavesTheOldContentAndNoLitter) {
  FencedFile file = FencedFile::open(path_).value();
  ASSERT_TRUE(file.replace(Token(1), "old"));
  for (const char* call : {"flush x.fence.new", "rename to x"}) {
    fail(call, ENOSPC);
    EXPECT_EQ(file.replace(Token(2), "new").code(), Code::unreachable) << call;
    EXPECT_EQ(slurp(path_), "old") << call;
    EXPECT_FALSE(std::filesystem::exists(dir_ / "x.fence.new")) << call;
  }
}

TEST_F(DurabilityTest, FailureAfterTheRenameIsUnknown) {
  FencedFile file = FencedFile::open(path_).value();
  ASSERT_TRUE(file.replace(Token(1), "old"));
  fail("flush " + directory_, EIO);
  const auto result = file.replace(Token(2), "new");
  EXPECT_EQ(result.outcome(), Outcome::unknown);
  EXPECT_NE(result.message().find(path_), std::string::npos) << result.message();
}

}  // namespace
}  // namespace holdfast
