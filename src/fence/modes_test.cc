// Readers and writers at a gate, wherever it keeps its mark.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <limits>
#include <ostream>
#include <random>
#include <string>

#include "fence/fence_testing.h"
#include "fence/lock_history_testing.h"
#include "fence/mark.h"
#include "holdfast/holdfast.h"

namespace holdfast {
namespace {

using fence_testing::Child;
using fence_testing::expect_fence_of;
using fence_testing::in_child;
using fence_testing::reader;
using fence_testing::Shared;
using fence_testing::TempDir;
using fence_testing::verdict;
using fence_testing::wait_until_set;
using internal::fence::Mark;

Ticket writer(std::uint64_t token) { return {Token(token), Mode::exclusive}; }

unsigned any_seed() { return std::random_device()(); }

TEST(FenceRule, AnswersAsTheHistoryDemands) {
  const unsigned seed = any_seed();
  for (unsigned i = 0; i < 200; ++i) {
    Mark mark;
    expect_fence_of(seed + i, 500, [&](const Ticket& ticket) {
      const auto raised = internal::fence::admitted(mark, ticket);
      if (raised) mark = *raised;
      return raised.has_value();
    });
    if (testing::Test::HasFailure()) break;
  }
}

// Every mark and ticket of a few numbers: neither number of the mark ever falls, and the writer's
// never exceeds the other.
TEST(FenceRule, NoTicketLowersAMark) {
  for (std::uint64_t newest = 0; newest < 6; ++newest) {
    for (std::uint64_t highest = 0; highest <= newest; ++highest) {
      for (std::uint64_t token = 1; token < 8; ++token) {
        for (const Ticket& ticket : {reader(token), writer(token)}) {
          const auto raised =
              internal::fence::admitted(Mark{Token(highest), Token(newest)}, ticket);
          if (!raised) continue;
          EXPECT_GE(raised->newest, Token(newest));
          EXPECT_GE(raised->writer, Token(highest));
          EXPECT_LE(raised->writer, raised->newest);
          EXPECT_GE(raised->newest, Token(token));
        }
      }
    }
  }
}

struct ModesKind {
  const char* name;
  std::function<Result<FenceGate>(const TempDir&)> open;
};
void PrintTo(const ModesKind& kind, std::ostream* out) { *out << kind.name; }

class FenceModes : public ::testing::TestWithParam<ModesKind> {
 protected:
  FenceGate open() { return GetParam().open(dir_).value(); }
  // Each with a gate of its own: what is not in the store is forgotten.
  Code enter(const Ticket& ticket) {
    const auto pass = open().enter(ticket);
    return pass ? Code::busy : pass.code();
  }
  static constexpr Code kAdmitted = Code::busy;  // no fence ever answers that

  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(
    Every, FenceModes,
    ::testing::Values(
        ModesKind{"file", [](const TempDir& dir) { return FenceGate::in_file(dir / "x.fence"); }},
        ModesKind{"sqlite",
                  [](const TempDir& dir) { return FenceGate::in_sqlite(dir / "x.db", "x"); }}),
    [](const auto& kind) { return kind.param.name; });

TEST_P(FenceModes, AValidReaderIsAdmittedAfterANewerReader) {
  Client client = Client::open("sqlite://" + (dir_ / "locks.db").string()).value();
  SharedMutex mutex = client.shared_mutex("ledger");
  Lease first = mutex.acquire_shared().value();
  Lease second = mutex.acquire_shared().value();
  ASSERT_LT(first.token(), second.token());
  for (const Lease* lease : {&first, &second, &first, &second}) {
    const auto pass = open().enter(*lease);
    EXPECT_TRUE(pass) << pass.message();
  }
  EXPECT_EQ(open().mark().value(), second.token());
  // Both are gone, and a writer comes; a reader that did not notice is late now.
  const Ticket late = second;
  ASSERT_TRUE(first.release());
  ASSERT_TRUE(second.release());
  const Lease third = mutex.acquire().value();
  EXPECT_EQ(enter(third), kAdmitted);
  EXPECT_EQ(enter(late), Code::stale_token);
}

TEST_P(FenceModes, AnswersAsTheHistoryDemands) {
  expect_fence_of(any_seed(), 300, [&](const Ticket& ticket) {
    const auto pass = open().enter(ticket);
    EXPECT_TRUE(pass || pass.code() == Code::stale_token) << pass.message();
    return pass.ok();
  });
}

TEST_P(FenceModes, ALateWriterIsRefusedAfterALaterReader) {
  EXPECT_EQ(enter(writer(33)), kAdmitted);
  EXPECT_EQ(enter(reader(34)), kAdmitted);
  EXPECT_EQ(enter(writer(33)), Code::stale_token);
  EXPECT_EQ(enter(writer(34)), kAdmitted) << "not below any";
}

TEST_P(FenceModes, ALateReaderIsRefusedAfterALaterWriterAndTheMessageNamesIt) {
  EXPECT_EQ(enter(reader(33)), kAdmitted);
  EXPECT_EQ(enter(writer(34)), kAdmitted);
  EXPECT_EQ(enter(reader(36)), kAdmitted);
  const auto refused = open().enter(reader(33));
  ASSERT_EQ(refused.code(), Code::stale_token);
  for (const char* part : {"shared token 33", "exclusive token 34"}) {
    EXPECT_NE(refused.message().find(part), std::string::npos) << refused.message();
  }
}

TEST_P(FenceModes, AReaderBelowTheNewestLowersNothing) {
  EXPECT_EQ(enter(writer(10)), kAdmitted);
  EXPECT_EQ(enter(reader(14)), kAdmitted);
  EXPECT_EQ(enter(reader(11)), kAdmitted);
  EXPECT_EQ(open().mark().value(), Token(14));
  EXPECT_EQ(enter(writer(13)), Code::stale_token);
  EXPECT_EQ(enter(reader(9)), Code::stale_token);
}

TEST_P(FenceModes, TheLastWriterMayReadAmongLaterReaders) {
  EXPECT_EQ(enter(writer(10)), kAdmitted);
  EXPECT_EQ(enter(reader(11)), kAdmitted);
  EXPECT_EQ(enter(reader(10)), kAdmitted) << "nobody has written since";
  EXPECT_EQ(enter(writer(10)), Code::stale_token) << "but it must not write";
}

// A holder that shows its lease as shared first, against the advice. The writer's number must rise
// though the other one does not.
TEST_P(FenceModes, ATokenShownAsSharedThenAsExclusiveShutsLateReadersOut) {
  EXPECT_EQ(enter(writer(3)), kAdmitted);
  EXPECT_EQ(enter(reader(5)), kAdmitted);
  EXPECT_EQ(enter(reader(7)), kAdmitted);
  EXPECT_EQ(enter(writer(7)), kAdmitted);
  EXPECT_EQ(enter(reader(5)), Code::stale_token);
  EXPECT_EQ(enter(reader(7)), kAdmitted);
}

TEST_P(FenceModes, ATokenAloneCountsAsExclusive) {
  EXPECT_EQ(enter(reader(5)), kAdmitted);
  EXPECT_EQ(enter(Token(6)), kAdmitted);
  EXPECT_EQ(enter(reader(5)), Code::stale_token);
}

TEST_P(FenceModes, APermitIsInvalidAndAnEmptyLeaseToo) {
  const auto permit = open().enter({Token(5), Mode::permit});
  EXPECT_EQ(permit.code(), Code::invalid_argument);
  EXPECT_NE(permit.message().find("semaphore"), std::string::npos) << permit.message();
  EXPECT_EQ(enter(Lease()), Code::invalid_argument);
  EXPECT_EQ(enter(reader(0)), Code::invalid_argument);
  EXPECT_EQ(open().mark().value(), Token(0));
}

TEST_P(FenceModes, TokensOfReadersCompareAsUnsignedNumbers) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(enter(writer(kHalf - 1)), kAdmitted);
  EXPECT_EQ(enter(reader(kHalf + 1)), kAdmitted);
  EXPECT_EQ(enter(reader(kHalf)), kAdmitted);
  EXPECT_EQ(enter(reader(kHalf - 2)), Code::stale_token);
  EXPECT_EQ(enter(writer(kHalf + 2)), kAdmitted);
  EXPECT_EQ(enter(reader(kMax)), kAdmitted);
  EXPECT_EQ(enter(reader(kHalf + 3)), kAdmitted);
  EXPECT_EQ(enter(reader(kHalf + 1)), Code::stale_token);
}

TEST_P(FenceModes, BothNumbersOutliveAKilledProcess) {
  Shared<std::atomic<bool>> inside;
  Child holder([&] {
    EXPECT_EQ(enter(writer(3)), kAdmitted);
    FenceGate gate = open();
    auto pass = gate.enter(reader(9)).value();
    *inside = true;
    ::pause();
    return 0;
  });
  wait_until_set(*inside);
  holder.kill_hard();
  EXPECT_EQ(enter(reader(5)), kAdmitted);
  EXPECT_EQ(enter(reader(2)), Code::stale_token);
  EXPECT_EQ(enter(writer(8)), Code::stale_token);
}

// Every third token is a writer's. Whatever was acknowledged before the kill is in the mark, in its
// mode; of what was under way, all or nothing.
TEST_P(FenceModes, AHolderKilledAtAnyInstantLeavesBothNumbersWhole) {
  struct Progress {
    std::atomic<std::uint64_t> started{0};
    std::atomic<std::uint64_t> acknowledged{0};
    std::atomic<std::uint64_t> acknowledged_writer{0};
  };
  const unsigned seed = any_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Shared<Progress> progress;
  int killed_at_work = 0;
  useconds_t window_us = 1000;  // follows the speed of the disk
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t before = progress->acknowledged;
    Shared<std::atomic<bool>> working;
    Child holder([&] {
      FenceGate gate = open();
      for (;;) {
        const std::uint64_t token = ++progress->started;
        *working = true;
        const Ticket ticket = token % 3 == 0 ? writer(token) : reader(token);
        static_cast<void>(gate.enter(ticket).value());
        if (ticket.mode == Mode::exclusive) progress->acknowledged_writer = token;
        progress->acknowledged = token;
      }
      return 0;
    });
    wait_until_set(*working);
    ::usleep(std::uniform_int_distribution<useconds_t>(0, window_us)(random));
    holder.kill_hard();
    if (progress->acknowledged != progress->started) ++killed_at_work;
    const std::uint64_t done = progress->acknowledged - before;
    if (done == 0) window_us += window_us / 4;
    if (done > 4) window_us -= window_us / 2;

    const std::uint64_t newest = open().mark().value().value();
    ASSERT_GE(newest, progress->acknowledged);
    ASSERT_LE(newest, progress->started);
    progress->started = newest;  // a token that did not arrive is shown again: there are no gaps
    // The last writer that the mark has seen.
    const std::uint64_t highest = newest - newest % 3;
    ASSERT_GE(highest, progress->acknowledged_writer);
    if (highest == 0) continue;
    ASSERT_EQ(enter(reader(highest)), kAdmitted) << "after " << newest;
    ASSERT_EQ(enter(reader(highest - 1)), Code::stale_token) << "after " << newest;
    if (highest != newest) {
      ASSERT_EQ(enter(writer(highest)), Code::stale_token) << "after " << newest;
    }
  }
  EXPECT_GT(killed_at_work, 15) << "the kills missed: this showed nothing";
  EXPECT_GT(progress->acknowledged_writer, 3U);
}

TEST(WithLockModes, AFunctionThatTakesATicketLearnsTheMode) {
  const TempDir dir;
  Client client = Client::open("sqlite://" + (dir / "locks.db").string()).value();
  SharedMutex mutex = client.shared_mutex("ledger");
  const auto mode_in = [](LockRequest& lock) {
    return with_lock(lock,
                     [](std::stop_token, const Ticket& ticket) {
                       EXPECT_GT(ticket.token, Token(0));
                       return ticket.mode;
                     })
        .value();
  };
  EXPECT_EQ(mode_in(mutex), Mode::exclusive);
  EXPECT_EQ(mode_in(mutex.shared()), Mode::shared);
  FenceGate gate = FenceGate::in_file(dir / "x.fence").value();
  const auto entered = with_lock(
      mutex.shared(), [&](std::stop_token, Ticket ticket) { return gate.enter(ticket).ok(); });
  EXPECT_TRUE(entered.value());
  const auto by_token =
      with_lock(mutex, [&](std::stop_token, Token token) { return gate.enter(token).ok(); });
  EXPECT_TRUE(by_token.value());
}

TEST(LeaseModes, ALeaseKnowsItsModeAlsoWhenItWasHandedOver) {
  const TempDir dir;
  Client client = Client::open("sqlite://" + (dir / "locks.db").string()).value();
  Lease shared = client.shared_mutex("a").acquire_shared().value();
  EXPECT_EQ(shared.mode(), Mode::shared);
  EXPECT_EQ(client.mutex("b").acquire().value().mode(), Mode::exclusive);
  EXPECT_EQ(client.semaphore("c", 2).acquire().value().mode(), Mode::permit);
  const Handle handle = shared.detach().value();
  EXPECT_EQ(client.adopt(handle).value().mode(), Mode::shared);
  EXPECT_THROW(static_cast<void>(Lease().mode()), LockError);
}

TEST(FencedFileModes, ReadersReadAndOnlyWritersWrite) {
  const TempDir dir;
  FencedFile file = FencedFile::open(dir / "ledger").value();
  ASSERT_TRUE(file.replace(writer(5), "five"));
  EXPECT_EQ(file.read(reader(8)).value(), "five");
  EXPECT_EQ(file.read(reader(7)).value(), "five");
  const auto written = file.replace(reader(9), "by a reader");
  EXPECT_EQ(written.code(), Code::invalid_argument);
  EXPECT_NE(written.message().find("right to read"), std::string::npos) << written.message();
  EXPECT_EQ(file.replace({Token(9), Mode::permit}, "x").code(), Code::invalid_argument);
  EXPECT_EQ(file.replace(writer(7), "late").code(), Code::stale_token);
  EXPECT_EQ(file.read(reader(7)).value(), "five");
  ASSERT_TRUE(file.replace(writer(10), "ten"));
  EXPECT_EQ(file.read(reader(8)).code(), Code::stale_token);
}

}  // namespace
}  // namespace holdfast
