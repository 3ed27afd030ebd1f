#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fence/fence_testing.h"
#include "holdfast/fence.h"

namespace holdfast {
namespace {

using fence_testing::Child;
using fence_testing::in_child;
using fence_testing::mode_of;
using fence_testing::Shared;
using fence_testing::slurp;
using fence_testing::spill;
using fence_testing::TempDir;
using fence_testing::verdict;
using fence_testing::wait_until_set;

class FencedFileTest : public ::testing::Test {
 protected:
  FencedFile open() const { return FencedFile::open(path_).value(); }
  Token mark() const {
    return FenceGate::in_file(path_.string() + ".fence").value().mark().value();
  }
  // The names in the directory, sorted: shows what was left behind.
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      found.push_back(entry.path().filename());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  TempDir dir_;
  std::filesystem::path path_ = dir_ / "ledger";
};

TEST_F(FencedFileTest, ReadsWhatWasReplaced) {
  FencedFile file = open();
  EXPECT_EQ(file.read(Token(1)).value(), "");
  const std::string content("two\0lines\n", 10);
  ASSERT_TRUE(file.replace(Token(1), content));
  EXPECT_EQ(file.read(Token(1)).value(), content);
  ASSERT_TRUE(file.replace(Token(1), ""));
  EXPECT_EQ(file.read(Token(2)).value(), "");
  EXPECT_EQ(names(), (std::vector<std::string>{"ledger", "ledger.fence"}));
}

TEST_F(FencedFileTest, LargeContentIsKeptWhole) {
  std::string content(3'000'000, 'x');
  content.back() = 'y';
  ASSERT_TRUE(open().replace(Token(1), content));
  EXPECT_EQ(open().read(Token(1)).value(), content);
}

TEST_F(FencedFileTest, StaleTokenNeitherReadsNorWrites) {
  ASSERT_TRUE(open().replace(Token(34), "new"));
  EXPECT_EQ(open().replace(Token(33), "old").code(), Code::stale_token);
  EXPECT_EQ(open().read(Token(33)).code(), Code::stale_token);
  EXPECT_EQ(slurp(path_), "new");
}

TEST_F(FencedFileTest, ReadRaisesTheMark) {
  ASSERT_TRUE(open().read(Token(34)));
  EXPECT_EQ(mark(), Token(34));
  EXPECT_EQ(open().replace(Token(33), "old").code(), Code::stale_token);
}

// Two holders, each of whom adds one to the number in the file. A's lease ended and B got the
// lock, but A does not know. `schedule` says whose turn it is: "AABB" means A reads and writes,
// then B. Whatever was acknowledged must be in the file.
struct Tally {
  int acknowledged = 0;
  int in_file = 0;
};

Tally run_schedule(const std::string& schedule, bool reads_are_checked) {
  TempDir dir;
  const std::filesystem::path path = dir / "counter";
  FencedFile file = FencedFile::open(path).value();
  struct Holder {
    Token token;
    bool has_read = false;
    bool refused = false;
    int seen = 0;
  };
  Holder a{Token(33)};
  Holder b{Token(34)};
  Tally tally;
  for (const char turn : schedule) {
    Holder& holder = turn == 'A' ? a : b;
    if (holder.refused) continue;
    if (!holder.has_read) {
      auto content = reads_are_checked ? file.read(holder.token) : Result<std::string>(slurp(path));
      holder.has_read = true;
      holder.refused = !content;
      if (content) holder.seen = std::atoi(content->c_str());
    } else if (file.replace(holder.token, std::to_string(holder.seen + 1))) {
      ++tally.acknowledged;
    }
  }
  tally.in_file = std::atoi(slurp(path).c_str());
  return tally;
}

TEST(WhyReadsTooTest, CheckOfWritesAloneLosesAnUpdate) {
  // B reads between A's read and A's write. Nothing has told the fence of B when A writes.
  const Tally tally = run_schedule("ABAB", /*reads_are_checked=*/false);
  EXPECT_EQ(tally.acknowledged, 2);
  EXPECT_EQ(tally.in_file, 1) << "if this fails, the test no longer shows why reads are checked";
}

TEST(WhyReadsTooTest, NoScheduleLosesAnUpdateWhenReadsAreCheckedToo) {
  std::string schedule = "AABB";
  int lost_without = 0;
  do {
    const Tally tally = run_schedule(schedule, /*reads_are_checked=*/true);
    EXPECT_EQ(tally.acknowledged, tally.in_file) << schedule;
    EXPECT_GE(tally.acknowledged, 1) << schedule << ": the newest holder is never refused";
    const Tally write_only = run_schedule(schedule, /*reads_are_checked=*/false);
    if (write_only.acknowledged != write_only.in_file) ++lost_without;
  } while (std::next_permutation(schedule.begin(), schedule.end()));
  EXPECT_GT(lost_without, 0);
}

TEST_F(FencedFileTest, PermissionsAreKept) {
  spill(path_, "old");
  std::filesystem::permissions(path_, std::filesystem::perms(0664));
  ASSERT_TRUE(open().replace(Token(1), "new"));
  EXPECT_EQ(mode_of(path_), 0664);
  EXPECT_EQ(mode_of(path_.string() + ".fence"), 0600);
}

TEST_F(FencedFileTest, NewFileIsReadableByItsOwnerAlone) {
  const mode_t old = ::umask(0);
  ASSERT_TRUE(open().replace(Token(1), "new"));
  ::umask(old);
  EXPECT_EQ(mode_of(path_), 0600);
}

TEST_F(FencedFileTest, OwnerIsKeptByRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  spill(path_, "old");
  ASSERT_EQ(::chown(path_.c_str(), 65534, 65534), 0);
  ASSERT_TRUE(open().replace(Token(1), "new"));
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 65534U);
}

TEST_F(FencedFileTest, SymbolicLinkLeadsToTheSameFileAndGate) {
  ASSERT_TRUE(open().replace(Token(5), "real"));
  std::filesystem::create_symlink(path_, dir_ / "link");
  FencedFile linked = FencedFile::open(dir_ / "link").value();
  EXPECT_EQ(linked.replace(Token(4), "x").code(), Code::stale_token);
  ASSERT_TRUE(linked.replace(Token(6), "through the link"));
  EXPECT_EQ(slurp(path_), "through the link");
  EXPECT_TRUE(std::filesystem::is_symlink(dir_ / "link"));
}

TEST_F(FencedFileTest, LinkInPlaceOfTheTemporaryFileIsNotFollowed) {
  spill(dir_ / "victim", "precious");
  std::filesystem::create_symlink(dir_ / "victim", path_.string() + ".fence.new");
  ASSERT_TRUE(open().replace(Token(1), "new"));
  EXPECT_EQ(slurp(dir_ / "victim"), "precious");
  EXPECT_EQ(slurp(path_), "new");
}

TEST_F(FencedFileTest, DirectoriesAndDevicesAreRefused) {
  EXPECT_EQ(FencedFile::open(dir_.path()).code(), Code::misconfigured);
  EXPECT_EQ(FencedFile::open("/dev/null").code(), Code::misconfigured);
  EXPECT_EQ(FencedFile::open("").code(), Code::invalid_argument);
  FencedFile file = open();
  std::filesystem::create_directory(path_);  // afterwards
  EXPECT_EQ(file.read(Token(1)).code(), Code::misconfigured);
  EXPECT_EQ(file.replace(Token(1), "x").code(), Code::misconfigured);
}

TEST_F(FencedFileTest, DirectoryWithoutWritePermissionIsExplained) {
  ASSERT_TRUE(open().replace(Token(1), "old"));
  std::filesystem::permissions(dir_.path(), std::filesystem::perms(0555));
  EXPECT_EQ(in_child([this] {
              // Root may write anywhere, so be somebody else.
              if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) return 2;
              auto created = FencedFile::open(dir_ / "another");
              EXPECT_EQ(created.code(), Code::misconfigured);
              EXPECT_NE(created.message().find("Permission denied"), std::string::npos);
              EXPECT_NE(created.message().find(dir_ / "another"), std::string::npos);
              return verdict();
            }),
            0);
  std::filesystem::permissions(dir_.path(), std::filesystem::perms(0755));
}

TEST_F(FencedFileTest, WriteThatDoesNotFitLeavesTheOldContentAndNoLitter) {
  ASSERT_TRUE(open().replace(Token(1), "old"));
  EXPECT_EQ(in_child([this] {
              ::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{20'000, 20'000};
              if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
              auto refused = open().replace(Token(2), std::string(30'000, 'x'));
              EXPECT_EQ(refused.code(), Code::unreachable);
              EXPECT_NE(refused.message().find("ulimit"), std::string::npos) << refused.message();
              return verdict();
            }),
            0);
  EXPECT_EQ(slurp(path_), "old");
  EXPECT_EQ(names(), (std::vector<std::string>{"ledger", "ledger.fence"}));
  EXPECT_TRUE(open().replace(Token(2), "new")) << "the same token may try again";
}

// Runs `body` in a mount namespace of its own, where a small tmpfs lies on `where`. 77: not
// allowed here.
template <class Body>
int on_small_disk(const std::filesystem::path& where, Body body) {
  return in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0) return 77;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
    if (::mount("none", where.c_str(), "tmpfs", 0, "size=64k") != 0) return 77;
    body();
    return verdict();
  });
}

TEST_F(FencedFileTest, FullDiskLeavesTheOldContentAndNoLitter) {
  const int status = on_small_disk(dir_.path(), [this] {
    ASSERT_TRUE(open().replace(Token(1), "old"));
    auto refused = open().replace(Token(2), std::string(200'000, 'x'));
    EXPECT_EQ(refused.code(), Code::unreachable);
    EXPECT_NE(refused.message().find("No space left"), std::string::npos) << refused.message();
    EXPECT_NE(refused.message().find("free some space"), std::string::npos) << refused.message();
    EXPECT_EQ(slurp(path_), "old");
    EXPECT_EQ(names(), (std::vector<std::string>{"ledger", "ledger.fence"}));
  });
  if (status == 77) GTEST_SKIP() << "cannot mount a small file system here";
  EXPECT_EQ(status, 0);
}

TEST_F(FencedFileTest, ReadOnlyFileSystemIsExplained) {
  const int status = on_small_disk(dir_.path(), [this] {
    FencedFile file = open();
    ASSERT_TRUE(file.replace(Token(1), "old"));
    ASSERT_EQ(::mount(nullptr, dir_.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
    const auto first = file.replace(Token(2), "new");
    const auto second = FencedFile::open(dir_ / "another");
    for (const Failure& failure : {first.failure(), second.failure()}) {
      EXPECT_EQ(failure.code(), Code::misconfigured);
      EXPECT_NE(failure.message().find("read-only"), std::string::npos) << failure.message();
    }
    EXPECT_EQ(slurp(path_), "old");
  });
  if (status == 77) GTEST_SKIP() << "cannot mount a small file system here";
  EXPECT_EQ(status, 0);
}

TEST_F(FencedFileTest, ThreadsSeeWholeVersionsInOrder) {
  FencedFile file = open();
  std::atomic<std::uint64_t> next{1};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      std::uint64_t newest_seen = 0;
      for (int round = 0; round < 25; ++round) {
        const std::uint64_t token = next.fetch_add(1);
        const std::string number = std::to_string(token);
        if (auto written = file.replace(Token(token), number + " " + number); !written) {
          EXPECT_EQ(written.code(), Code::stale_token) << written.message();
        }
        auto content = file.read(Token(next.load()));
        if (!content || content->empty()) continue;
        const std::uint64_t seen = std::stoull(*content);
        EXPECT_EQ(*content, std::to_string(seen) + " " + std::to_string(seen));
        EXPECT_GE(seen, newest_seen);
        newest_seen = seen;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A version of the file by which a mixture, a part or a wrong length would show.
std::string version(std::uint64_t number) {
  const std::string head = "version " + std::to_string(number) + "\n";
  std::string whole;
  for (std::uint64_t i = 0; i < 1 + number * 7919 % 3000; ++i) whole += head;
  return whole + "end\n";
}

TEST_F(FencedFileTest, WriterKilledAtAnyInstantLeavesOneWholeVersion) {
  const char* const chosen = std::getenv("HOLDFAST_SEED");
  const unsigned seed = chosen != nullptr ? static_cast<unsigned>(std::atoi(chosen)) : 20240501U;
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  Shared<std::atomic<std::uint64_t>> acknowledged;
  Shared<std::atomic<std::uint64_t>> started;
  int killed_at_work = 0;
  std::uint64_t highest_mark = 0;
  // How long a writer lives at most. It follows the speed of the disk, so that a writer is killed
  // now in its first replacement and now in its third.
  useconds_t window_us = 1000;
  for (int round = 0; round < 150; ++round) {
    const std::uint64_t acknowledged_before = *acknowledged;
    Shared<std::atomic<bool>> working;
    Child writer([&] {
      FencedFile file = open();
      for (;;) {
        const std::uint64_t token = *started + 1;
        *started = token;
        *working = true;
        file.replace(Token(token), version(token)).value();
        *acknowledged = token;
      }
      return 0;
    });
    wait_until_set(*working);
    ::usleep(std::uniform_int_distribution<useconds_t>(0, window_us)(random));
    writer.kill_hard();
    if (*acknowledged != *started) ++killed_at_work;
    const std::uint64_t done = *acknowledged - acknowledged_before;
    if (done == 0) window_us += window_us / 4;
    if (done > 2) window_us -= window_us / 2;

    const std::string content = slurp(path_);
    const std::uint64_t number = content.empty() ? 0 : std::stoull(content.substr(8));
    EXPECT_EQ(content, number == 0 ? "" : version(number));
    EXPECT_GE(number, *acknowledged);
    EXPECT_LE(number, *started);
    const std::uint64_t now = mark().value();
    EXPECT_GE(now, highest_mark);
    EXPECT_GE(now, number) << "content from a token that the fence has not seen";
    EXPECT_LE(now, *started);
    highest_mark = now;
  }
  EXPECT_GT(killed_at_work, 50) << "the kills missed: this showed nothing";
  EXPECT_GT(*acknowledged, 20U);
  ASSERT_TRUE(open().replace(Token(*started + 1), "last"));
  EXPECT_EQ(names(), (std::vector<std::string>{"ledger", "ledger.fence"})) << "litter";
}

}  // namespace
}  // namespace holdfast
