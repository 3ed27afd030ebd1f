// Recursive mutex, multi-lock and election, on any engine.
#include <mutex>

#include "contract.h"

namespace holdfast::contract {

HOLDFAST_CONTRACT(RecursiveMutexTest);
HOLDFAST_CONTRACT(MultiLockTest);
HOLDFAST_CONTRACT(ElectionTest);

TEST_P(RecursiveMutexTest, ReentryKeepsTheTokenAndTheLastUnlockReleases) {
  Client client = open();
  RecursiveMutex mutex = client.recursive_mutex("x");
  const std::scoped_lock outer(mutex);
  const Token token = mutex.token();
  {
    const std::unique_lock inner(mutex);
    EXPECT_TRUE(mutex.try_lock());
    EXPECT_TRUE(mutex.try_lock_for(1ms));
    EXPECT_TRUE(mutex.try_lock_until(std::chrono::steady_clock::now()));
    EXPECT_EQ(mutex.depth(), 5U);
    EXPECT_EQ(mutex.token(), token);
    EXPECT_EQ(client.inspect("x").value().last_token, token);
    for (int i = 0; i < 3; ++i) mutex.unlock();
  }
  EXPECT_EQ(mutex.depth(), 1U);
  EXPECT_TRUE(mutex.held());
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
  mutex.unlock();
  expect_nothing_left(client, "x");
  mutex.lock();  // For the guard's unlock.
}

TEST_P(RecursiveMutexTest, AnotherThreadMustWait) {
  Client client = open();
  RecursiveMutex mutex = client.recursive_mutex("x");
  const std::scoped_lock guard(mutex);
  std::thread([&] {
    EXPECT_EQ(mutex.depth(), 0U);
    EXPECT_FALSE(mutex.held());
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock_for(10ms));
    mutex.unlock();  // Not ours: nothing happens.
  }).join();
  EXPECT_TRUE(mutex.held());
}

TEST_P(RecursiveMutexTest, ReentryIntoALostLockFailsUntilItWasUnlocked) {
  Client client = open();
  RecursiveMutex mutex = client.recursive_mutex("x", fading());
  mutex.lock();
  EXPECT_TRUE(eventually([&] { return mutex.lost().stop_requested(); }));
  EXPECT_EQ(thrown_by([&] { mutex.lock(); }), "not_held");
  EXPECT_EQ(thrown_by([&] { mutex.try_lock(); }), "not_held");
  mutex.unlock();
  EXPECT_EQ(thrown_by([&] { mutex.lock(); }), "nothing");
  mutex.unlock();
}

TEST_P(MultiLockTest, NamesAreSortedAndTakenOnce) {
  Client client = open();
  Result<MultiLease> all = client.acquire_all({"c", "a", "b", "a", "c"});
  ASSERT_EQ(outcome_of(all), "granted");
  std::vector<std::string> names;
  for (const Lease& lease : all->leases()) names.push_back(lease.name().bytes());
  EXPECT_THAT(names, testing::ElementsAre("a", "b", "c"));
  EXPECT_TRUE(all->held());
  EXPECT_EQ(all->token("b"), client.inspect("b").value().holders.at(0).token);
  EXPECT_EQ(thrown_by([&] { static_cast<void>(all->token("z")); }), "not_held");
  EXPECT_EQ(outcome_of(all->release()), "granted");
  EXPECT_FALSE(all->held());
  for (const char* name : {"a", "b", "c"}) expect_nothing_left(client, name);
}

TEST_P(MultiLockTest, WhatWasTakenIsGivenBackWhenTheRestIsBusy) {
  Client client = open();
  MultiLock multi = client.multi_lock({"a", "b", "c"});
  const Lease taken = client.mutex("c").acquire().value();
  EXPECT_EQ(outcome_of(multi.try_acquire()), "busy");
  EXPECT_EQ(outcome_of(multi.try_acquire_for(30ms)), "busy");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(outcome_of(multi.acquire(stop.get_token())), "cancelled");
  EXPECT_EQ(client.list().value().size(), 1U);
  expect_nothing_left(client, "a");
  expect_nothing_left(client, "b");
}

TEST_P(MultiLockTest, OneDeadlineCoversAllItsNames) {
  Client client = open();
  // Each comes free just before the time of the one before it would be over.
  Lease a = client.mutex("a").acquire().value();
  Lease b = client.mutex("b").acquire().value();
  const Lease c = client.mutex("c").acquire().value();
  const BootTime begin = BootClock::now();
  auto waiting = std::async(std::launch::async,
                            [&] { return client.multi_lock({"a", "b", "c"}).try_acquire_for(1s); });
  pause_for(600ms);
  ASSERT_TRUE(a.release());
  pause_for(300ms);
  ASSERT_TRUE(b.release());
  EXPECT_EQ(outcome_of(waiting.get()), "busy");
  const Duration took = BootClock::now() - begin;
  EXPECT_GE(took, 1s);
  EXPECT_LT(took, 1700ms) << "a later name got a time of its own";
  for (const char* name : {"a", "b"}) {
    // A release that a busy server has not answered in the call's own time goes on in the background.
    EXPECT_TRUE(eventually([&] { return holders(client, name) == 0; })) << name;
    expect_nothing_left(client, name);
  }
}

TEST_P(MultiLockTest, OverlappingMultiLocksDoNotDeadlock) {
  Client one = open();
  Client two = open();
  std::atomic<int> inside = 0;
  std::vector<std::thread> threads;
  const std::vector<std::vector<Name>> orders{{"a", "b"}, {"b", "a"}, {"c", "b"}, {"b", "c", "a"}};
  for (std::size_t i = 0; i < orders.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 15; ++round) {
        const Result<MultiLease> all = (i % 2 == 0 ? one : two).acquire_all(orders[i]);
        EXPECT_EQ(outcome_of(all), "granted");
        EXPECT_EQ(++inside, 1);  // All of them want b.
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(one.list().value().empty());
}

TEST_P(MultiLockTest, TheLossOfOneIsTheLossOfAll) {
  Client client = open();
  const Result<MultiLease> all = client.acquire_all({"a", "b"}, brief());
  ASSERT_EQ(outcome_of(all), "granted");
  EXPECT_FALSE(all->lost().stop_requested());
  ASSERT_TRUE(client.evict("b", all->token("b")));
  EXPECT_TRUE(eventually([&] { return all->lost().stop_requested(); }));
  EXPECT_FALSE(all->held());
}

TEST_P(ElectionTest, TheLeaderIsVisibleWithItsValueAndTerm) {
  Client client = open();
  Election election = client.election("chief");
  EXPECT_EQ(election.leader().value().token, Token());
  Lease term = election.campaign("http://10.0.0.7:8080").value();
  const Leader leader = client.election("chief").leader().value();
  EXPECT_EQ(leader.value, "http://10.0.0.7:8080");
  EXPECT_EQ(leader.token, term.token());
  ASSERT_TRUE(term.release());
  EXPECT_EQ(election.leader().value().token, Token());
}

TEST_P(ElectionTest, TheNextCandidateLeadsAfterResignation) {
  Client one = open();
  Client two = open();
  Lease first = one.election("chief").campaign("one").value();
  Election election = two.election("chief");
  EXPECT_EQ(outcome_of(election.try_campaign_for("two", 20ms)), "busy");
  Pending waiting = in_thread([&] { return election.campaign("two"); });
  ASSERT_TRUE(queue_reaches(one, "chief", 1));
  const Token before = first.token();
  ASSERT_TRUE(first.release());
  const Result<Lease> second = waiting.get();
  ASSERT_EQ(outcome_of(second), "granted");
  EXPECT_GT(second->token(), before);
  EXPECT_EQ(one.election("chief").leader().value().value, "two");
}

TEST_P(ElectionTest, ObserveReturnsAtEachChangeOfLeader) {
  Client one = open();
  Client two = open();
  Election watcher = two.election("chief");
  Lease term = one.election("chief").campaign("first").value();
  const Leader first = watcher.observe(Token(), kPatience).value();
  EXPECT_EQ(first.value, "first");
  EXPECT_EQ(outcome_of(watcher.observe(first.token, 30ms)), "busy");
  auto next =
      std::async(std::launch::async, [&] { return watcher.observe(first.token, kPatience); });
  pause_for(20ms);
  EXPECT_FALSE(is_ready(next));
  ASSERT_TRUE(term.release());
  const Result<Leader> gone = next.get();
  ASSERT_EQ(outcome_of(gone), "granted");
  EXPECT_EQ(gone->token, Token()) << "nobody leads";
}

TEST_P(ElectionTest, AStopTokenEndsObserving) {
  Client client = open();
  Election election = client.election("chief");
  std::stop_source stop;
  auto watching = std::async(std::launch::async, [&] {
    return election.observe(Token(), std::nullopt, stop.get_token());
  });
  pause_for(20ms);
  stop.request_stop();
  EXPECT_EQ(outcome_of(watching.get()), "cancelled");
}

}  // namespace holdfast::contract
