// The four ways to wait: as long as it takes, not at all, for a while, until cancelled.
#include <sys/resource.h>

#include "child.h"
#include "contract.h"

namespace holdfast::contract {

HOLDFAST_CONTRACT(WaitingTest);

namespace {

// A call on a thread of its own that gives the lock back at once: for several that wait for each
// other in an order that we do not know.
std::future<std::string> pass_in_thread(std::function<Result<Lease>()> call) {
  return std::async(std::launch::async, [call = std::move(call)]() -> std::string {
    const Result<Lease> lease = call();
    return lease ? "granted" : code_name(lease.code());
  });
}

}  // namespace

TEST_P(WaitingTest, ABlockedCallerGetsTheLockWhenItIsReleased) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  Lease lease = mutex.acquire().value();
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  EXPECT_FALSE(is_ready(waiting));
  ASSERT_TRUE(lease.release());
  ASSERT_TRUE(arrives(waiting));
  const Result<Lease> got = waiting.get();
  ASSERT_EQ(outcome_of(got), "granted");
  EXPECT_TRUE(got->held());
}

TEST_P(WaitingTest, AWaiterInAnotherProcessGetsTheLockWhenItIsReleased) {
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Child child(url());
  Lease lease = client.mutex("x").acquire().value();
  child.send("acquire x 30000");
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  ASSERT_TRUE(lease.release());
  EXPECT_THAT(child.answer(), testing::StartsWith("granted"));
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
}

TEST_P(WaitingTest, ATimedWaitEndsBusyNotEarlierThanAskedAndLeavesNothing) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  Lease lease = mutex.acquire().value();
  const BootTime begin = BootClock::now();
  EXPECT_EQ(outcome_of(mutex.try_acquire_for(150ms)), "busy");
  EXPECT_GE(BootClock::now() - begin, 150ms);
  EXPECT_EQ(waiters(client, "x"), 0U);
  ASSERT_TRUE(lease.release());
  expect_nothing_left(client, "x");
}

TEST_P(WaitingTest, ATimedWaitIsGrantedWhenTheLockComesFreeInTime) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  Lease lease = mutex.acquire().value();
  Pending waiting = in_thread([&] { return mutex.try_acquire_for(kPatience); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  ASSERT_TRUE(lease.release());
  EXPECT_EQ(outcome_of(waiting.get()), "granted");
}

TEST_P(WaitingTest, AWaitUntilAMomentWorksOnAnyClock) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  {
    const Lease lease = mutex.acquire().value();
    EXPECT_EQ(outcome_of(mutex.try_acquire_until(BootClock::now() + 20ms)), "busy");
    EXPECT_EQ(outcome_of(mutex.try_acquire_until(std::chrono::steady_clock::now() + 20ms)), "busy");
    EXPECT_EQ(outcome_of(mutex.try_acquire_until(std::chrono::system_clock::now() + 20ms)), "busy");
  }
  EXPECT_TRUE(mutex.try_acquire_until(std::chrono::system_clock::now() + 1h));
}

TEST_P(WaitingTest, NoPatienceAndTimeInThePastMeanTry) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  for (const Duration patience : {Duration(0), Duration(-1s), Duration::min()}) {
    Result<Lease> lease = mutex.try_acquire_for(patience);
    ASSERT_EQ(outcome_of(lease), "granted") << patience.count();
    EXPECT_EQ(outcome_of(mutex.try_acquire_for(patience)), "busy") << patience.count();
  }
}

TEST_P(WaitingTest, AnEndlessPatienceWaits) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  Lease lease = mutex.acquire().value();
  auto longest = pass_in_thread([&] { return mutex.try_acquire_for(Duration::max()); });
  auto latest = pass_in_thread(
      [&] { return mutex.try_acquire_until(std::chrono::steady_clock::time_point::max()); });
  pause_for(50ms);
  EXPECT_FALSE(is_ready(longest)) << "Duration::max() overflowed";
  EXPECT_FALSE(is_ready(latest)) << "time_point::max() overflowed";
  ASSERT_TRUE(lease.release());
  EXPECT_EQ(longest.get(), "granted");
  EXPECT_EQ(latest.get(), "granted");
}

// The lock changes hands again and again while we wait; that must not restart our time.
TEST_P(WaitingTest, OneDeadlineGovernsTheWholeWait) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  Lease first = mutex.acquire().value();
  std::atomic<int> still_in_line = 60;
  std::vector<std::thread> line;
  for (int i = 0; i < 60; ++i) {
    line.emplace_back([&] {
      const Lease lease = mutex.acquire().value();
      pause_for(30ms);
      --still_in_line;
    });
  }
  ASSERT_TRUE(queue_reaches(client, "x", line.size()));
  Pending timed = in_thread([&] { return mutex.try_acquire_for(200ms); });
  EXPECT_TRUE(first.release());
  Result<Lease> outcome = timed.get();
  // (Where there is no line, it may have been lucky.)
  if (engine().fifo || !outcome) {
    // An engine that could not even ask in 200 ms, so much the line asks of it, says that.
    EXPECT_THAT(outcome_of(outcome), testing::AnyOf("busy", "unreachable")) << why(outcome);
  }
  EXPECT_GT(still_in_line.load(), 0) << "it waited for the whole line";
  if (outcome) {
    EXPECT_TRUE(outcome->release());
  }
  for (std::thread& thread : line) thread.join();
  expect_nothing_left(client, "x");
}

TEST_P(WaitingTest, AWaiterIsServedWhenTheHoldersTtlEnds) {
  Client one = open();
  Client two = open();
  const Lease fades = one.mutex("x", fading()).acquire().value();
  const BootTime begin = BootClock::now();
  const Result<Lease> next = two.mutex("x").try_acquire_for(kPatience);
  ASSERT_EQ(outcome_of(next), "granted");
  EXPECT_GE(BootClock::now(), fades.valid_until()) << "it came in while the first could hold";
  EXPECT_LT(BootClock::now() - begin, kPatience);
}

TEST_P(WaitingTest, IdleWaitersUseNoProcessorTime) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  Lease lease = mutex.acquire().value();
  std::vector<std::future<std::string>> line;
  for (int i = 0; i < 8; ++i) line.push_back(pass_in_thread([&] { return mutex.acquire(); }));
  ASSERT_TRUE(queue_reaches(client, "x", line.size()));
  const auto used = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const timeval& user = usage.ru_utime;
    const timeval& system = usage.ru_stime;
    return std::chrono::seconds(user.tv_sec + system.tv_sec) +
           std::chrono::microseconds(user.tv_usec + system.tv_usec);
  };
  const auto before = used();
  pause_for(1s);
  EXPECT_LT(used() - before, 300ms) << "somebody polls";
  ASSERT_TRUE(lease.release());
  for (std::future<std::string>& waiting : line) EXPECT_EQ(waiting.get(), "granted");
}

}  // namespace holdfast::contract
