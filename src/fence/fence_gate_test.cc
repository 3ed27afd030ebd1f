// Promises of every gate, wherever it keeps its mark.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <thread>
#include <vector>

#include "fence/fence_testing.h"
#include "holdfast/fence.h"

namespace holdfast {
namespace {

using fence_testing::Child;
using fence_testing::in_child;
using fence_testing::mode_of;
using fence_testing::pause_ms;
using fence_testing::Shared;
using fence_testing::TempDir;
using fence_testing::verdict;
using fence_testing::wait_until_set;

// Long enough for a thread to get where it must not, short enough to wait for.
constexpr int kLookMs = 50;

struct Kind {
  const char* name;
  std::function<Result<FenceGate>(const TempDir&)> open;
  const char* file;    // where the mark is
  const char* locked;  // the file whose lock means being inside
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class FenceGateTest : public ::testing::TestWithParam<Kind> {
 protected:
  FenceGate open() { return GetParam().open(dir_).value(); }

  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(
    Every, FenceGateTest,
    ::testing::Values(
        Kind{"file", [](const TempDir& dir) { return FenceGate::in_file(dir / "x.fence"); },
             "x.fence", "x.fence"},
        Kind{"sqlite", [](const TempDir& dir) { return FenceGate::in_sqlite(dir / "x.db", "x"); },
             "x.db", "x.db-fence"}),
    [](const auto& kind) { return kind.param.name; });

TEST_P(FenceGateTest, NewGateHasMarkZero) { EXPECT_EQ(open().mark().value(), Token(0)); }

TEST_P(FenceGateTest, HigherAndEqualTokensAreAdmitted) {
  FenceGate gate = open();
  for (const std::uint64_t token : {1, 33, 33, 34}) {
    EXPECT_TRUE(gate.enter(Token(token))) << token;
    EXPECT_EQ(gate.mark().value(), Token(token));
  }
}

TEST_P(FenceGateTest, LowerTokenIsRefusedAndTheMessageNamesBoth) {
  FenceGate gate = open();
  ASSERT_TRUE(gate.enter(Token(34)));
  auto refused = gate.enter(Token(33));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.code(), Code::stale_token);
  EXPECT_NE(refused.message().find("token 33"), std::string::npos) << refused.message();
  EXPECT_NE(refused.message().find("token 34"), std::string::npos) << refused.message();
  EXPECT_NE(refused.message().find(dir_ / GetParam().file), std::string::npos);
  EXPECT_EQ(gate.mark().value(), Token(34));
  EXPECT_TRUE(gate.enter(Token(34))) << "a refusal must leave the gate open";
}

TEST_P(FenceGateTest, TokenZeroIsNoToken) {
  EXPECT_EQ(open().enter(Token()).code(), Code::invalid_argument);
}

TEST_P(FenceGateTest, MarkOutlivesTheGate) {
  ASSERT_TRUE(open().enter(Token(7)));
  EXPECT_EQ(open().mark().value(), Token(7));
  EXPECT_EQ(open().enter(Token(6)).code(), Code::stale_token);
}

TEST_P(FenceGateTest, TokensCompareAsUnsignedNumbers) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t before = 1;
  for (const std::uint64_t token : {kHalf - 1, kHalf, kHalf + 1, kMax - 1, kMax}) {
    FenceGate gate = open();
    ASSERT_TRUE(gate.enter(Token(token))) << token;
    EXPECT_EQ(gate.mark().value(), Token(token));
    EXPECT_EQ(gate.enter(Token(before)).code(), Code::stale_token) << before << " after " << token;
    before = token;
  }
}

TEST_P(FenceGateTest, WhatIsCreatedIsReadableByItsOwnerAlone) {
  const mode_t old = ::umask(0);
  FenceGate gate = open();
  ASSERT_TRUE(gate.enter(Token(1)));
  ::umask(old);
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    EXPECT_EQ(mode_of(entry.path()), 0600) << entry.path();
  }
}

TEST_P(FenceGateTest, MovedFromGateIsClosed) {
  FenceGate gate = open();
  const FenceGate other = std::move(gate);
  EXPECT_EQ(gate.enter(Token(1)).code(), Code::closed);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(gate.mark().code(), Code::closed);
  EXPECT_TRUE(other.mark());
}

TEST_P(FenceGateTest, MarkIsReadWithoutWaitingForWhoIsInside) {
  FenceGate gate = open();
  auto pass = gate.enter(Token(5)).value();
  EXPECT_EQ(gate.mark().value(), Token(5));
  EXPECT_EQ(open().mark().value(), Token(5));
}

// While somebody is inside, `visitor` (on another thread) must wait.
void expect_waits_for(FenceGate::Pass pass, FenceGate& visitor) {
  std::atomic<bool> entered{false};
  std::thread thread([&] {
    auto second = visitor.enter(Token(9));
    EXPECT_TRUE(second);
    entered = true;
  });
  pause_ms(kLookMs);
  EXPECT_FALSE(entered);
  {
    const FenceGate::Pass ends = std::move(pass);
  }
  thread.join();
  EXPECT_TRUE(entered);
}

TEST_P(FenceGateTest, AnotherThreadWaitsOutside) {
  FenceGate gate = open();
  expect_waits_for(gate.enter(Token(9)).value(), gate);
}

TEST_P(FenceGateTest, AnotherGateObjectOfTheSameProcessWaitsOutside) {
  FenceGate gate = open();
  FenceGate twin = open();
  expect_waits_for(gate.enter(Token(9)).value(), twin);
}

TEST_P(FenceGateTest, PassOutlivesItsGateAndMayEndOnAnotherThread) {
  FenceGate visitor = open();
  std::optional<FenceGate> gate(open());
  FenceGate::Pass pass = gate->enter(Token(9)).value();
  gate.reset();
  expect_waits_for(std::move(pass), visitor);
  FenceGate::Pass again = visitor.enter(Token(9)).value();
  std::thread([moved = std::move(again)] {}).join();
  EXPECT_TRUE(visitor.enter(Token(9)));
}

TEST_P(FenceGateTest, AnotherProcessWaitsOutside) {
  FenceGate gate = open();
  Shared<std::atomic<bool>> entered;
  std::optional<FenceGate::Pass> pass(gate.enter(Token(9)).value());
  Child visitor([&] {
    if (!open().enter(Token(9))) return 1;
    *entered = true;
    return 0;
  });
  pause_ms(kLookMs);
  EXPECT_FALSE(*entered);
  pass.reset();
  EXPECT_EQ(visitor.wait(), 0);
}

TEST_P(FenceGateTest, KilledProcessLeavesTheGate) {
  Shared<std::atomic<bool>> inside;
  Child holder([&] {
    FenceGate gate = open();
    auto pass = gate.enter(Token(9)).value();
    *inside = true;
    ::pause();
    return 0;
  });
  wait_until_set(*inside);
  holder.kill_hard();
  FenceGate gate = open();
  EXPECT_TRUE(gate.enter(Token(9)));
  EXPECT_EQ(gate.enter(Token(8)).code(), Code::stale_token);
}

TEST_P(FenceGateTest, ForkedChildDoesNotKeepTheGateOfItsKilledParent) {
  Shared<std::atomic<pid_t>> grandchild;
  Child holder([&] {
    FenceGate gate = open();
    auto pass = gate.enter(Token(9)).value();
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(120);
      ::pause();
      ::_exit(0);
    }
    *grandchild = pid;
    ::pause();
    return 0;
  });
  wait_until_set(*grandchild);
  holder.kill_hard();
  EXPECT_EQ(in_child([&] {
              ::alarm(20);  // instead of waiting for as long as the grandchild lives
              return open().enter(Token(9)) ? 0 : 1;
            }),
            0);
  ::kill(*grandchild, SIGKILL);
}

TEST_P(FenceGateTest, EndOfAnInheritedPassDoesNotOpenTheParentsGate) {
  FenceGate gate = open();
  FenceGate visitor = open();
  auto pass = std::make_unique<FenceGate::Pass>(gate.enter(Token(9)).value());
  ASSERT_EQ(in_child([&] {
              pass.reset();
              return 0;
            }),
            0);
  expect_waits_for(std::move(*pass), visitor);
}

TEST_P(FenceGateTest, EndOfAnInheritedPassLeavesTheChildsOwnFilesAlone) {
  FenceGate gate = open();
  auto pass = std::make_unique<FenceGate::Pass>(gate.enter(Token(9)).value());
  EXPECT_EQ(in_child([&] {
              // The pass's descriptor is closed in the child; its number is the next to be given.
              const int mine = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
              pass.reset();
              return ::fcntl(mine, F_GETFD) >= 0 ? 0 : 1;
            }),
            0);
}

TEST_P(FenceGateTest, ForkedChildMayUseTheGateItself) {
  FenceGate gate = open();
  ASSERT_TRUE(gate.enter(Token(5)));
  EXPECT_EQ(in_child([&] {
              EXPECT_EQ(gate.enter(Token(4)).code(), Code::stale_token);
              EXPECT_TRUE(gate.enter(Token(6)));
              return verdict();
            }),
            0);
  EXPECT_EQ(gate.enter(Token(5)).code(), Code::stale_token);
  EXPECT_EQ(gate.mark().value(), Token(6));
}

// Shared by the visitors of the hammer test.
struct Room {
  std::atomic<int> inside{0};
  std::atomic<std::uint64_t> last{0};  // the token that was inside last
  std::atomic<std::uint64_t> next_token{1};
  std::atomic<int> overlaps{0};
  std::atomic<int> regressions{0};
  std::atomic<int> admitted{0};
  std::atomic<int> refused{0};
};

void visit(FenceGate& gate, Room& room, Token token) {
  auto pass = gate.enter(token);
  if (!pass) {
    if (pass.code() != Code::stale_token) throw LockError(pass.failure());
    ++room.refused;
    return;
  }
  if (room.inside.fetch_add(1) != 0) ++room.overlaps;
  if (room.last.exchange(token.value()) > token.value()) ++room.regressions;
  if (gate.mark().value() != token) ++room.regressions;
  ++room.admitted;
  room.inside.fetch_sub(1);
}

TEST_P(FenceGateTest, ManyProcessesNeverOverlapAndTheMarkNeverFalls) {
  constexpr int kProcesses = 6;
  constexpr int kVisits = 60;
  Shared<Room> room;
  std::vector<Child> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.emplace_back([&] {
      FenceGate gate = open();
      for (int visits = 0; visits < kVisits; ++visits) {
        // Drawn before entering: by the time it is shown, others may have shown a newer one.
        visit(gate, *room, Token(room->next_token.fetch_add(1)));
        visit(gate, *room, Token(room->next_token.load() - 1));
      }
      return 0;
    });
  }
  for (Child& child : children) EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(room->overlaps, 0);
  EXPECT_EQ(room->regressions, 0);
  EXPECT_EQ(room->admitted + room->refused, 2 * kProcesses * kVisits);
  EXPECT_EQ(open().mark().value(), Token(room->last));
  // A test in which nobody was ever late would show nothing.
  EXPECT_GT(room->refused, 0);
  EXPECT_GT(room->admitted, kVisits);
}

TEST_P(FenceGateTest, ManyThreadsNeverOverlap) {
  Room room;
  FenceGate gate = open();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int visits = 0; visits < 50; ++visits) {
        visit(gate, room, Token(room.next_token.fetch_add(1)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(room.overlaps, 0);
  EXPECT_EQ(room.regressions, 0);
  EXPECT_EQ(room.admitted + room.refused, 200);
}

// Whether this process has a descriptor of a file with that name. Without malloc: it runs in the
// forked child of a process with threads.
bool has_open(const char* name) {
  for (int fd = 0; fd < 256; ++fd) {
    char link[32];
    char target[4096];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = ::readlink(link, target, sizeof target - 1);
    if (length < 0) continue;
    target[length] = 0;
    const char* const last = std::strrchr(target, '/');
    if (last != nullptr && std::strcmp(last + 1, name) == 0) return true;
  }
  return false;
}

TEST_P(FenceGateTest, ForksDuringVisitsInheritNoCopyOfTheLock) {
  FenceGate gate = open();
  std::atomic<bool> stop{false};
  std::thread visitor([&] {
    while (!stop) EXPECT_TRUE(gate.enter(Token(1)));
  });
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(in_child([&] { return has_open(GetParam().locked) ? 1 : 0; }), 0);
  }
  stop = true;
  visitor.join();
}

}  // namespace
}  // namespace holdfast
