// The standard forms: std::unique_lock, std::scoped_lock, std::shared_lock; and with_lock.
#include <mutex>
#include <shared_mutex>

#include "contract.h"

namespace holdfast::contract {

HOLDFAST_CONTRACT(MutexTest);

TEST_P(MutexTest, ScopedLockHoldsAndReleases) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  {
    const std::scoped_lock guard(mutex);
    EXPECT_TRUE(mutex.held());
    EXPECT_GT(mutex.token(), Token());
    EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
  }
  EXPECT_FALSE(mutex.held());
  EXPECT_EQ(mutex.token(), Token());
  expect_nothing_left(client, "x");
}

TEST_P(MutexTest, ScopedLockOfTwoMutexesDoesNotDeadlock) {
  Client client = open();
  Mutex x = client.mutex("x");
  Mutex y = client.mutex("y");
  std::atomic<int> inside = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 15; ++round) {
        if (i % 2 == 0) {
          const std::scoped_lock guard(x, y);
          EXPECT_EQ(++inside, 1);
          --inside;
        } else {
          const std::scoped_lock guard(y, x);
          EXPECT_EQ(++inside, 1);
          --inside;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect_nothing_left(client, "x");
  expect_nothing_left(client, "y");
}

TEST_P(MutexTest, UniqueLockWorksInAllItsForms) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  std::unique_lock lock(mutex);
  EXPECT_TRUE(lock.owns_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock_for(1s));
  lock.unlock();
  EXPECT_TRUE(lock.try_lock_until(std::chrono::steady_clock::now() + 1s));
  lock.unlock();
  const Lease other = client.mutex("x").acquire().value();
  EXPECT_FALSE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock_for(10ms));
  EXPECT_FALSE(lock.try_lock_until(std::chrono::system_clock::now() + 10ms));
}

TEST_P(MutexTest, SharedLockAndUniqueLockOfOneSharedMutex) {
  HOLDFAST_NEEDS(shared_mode);
  Client client = open();
  SharedMutex mutex = client.shared_mutex("x");
  {
    const std::shared_lock reader(mutex);
    std::thread([&] {
      const std::shared_lock together(mutex, 1s);
      EXPECT_TRUE(together.owns_lock());
      std::unique_lock writer(mutex, std::defer_lock);
      EXPECT_FALSE(writer.try_lock());
      EXPECT_FALSE(writer.try_lock_for(10ms));
    }).join();
  }
  const std::unique_lock writer(mutex);
  std::thread([&] {
    std::shared_lock reader(mutex, std::try_to_lock);
    EXPECT_FALSE(reader.owns_lock());
    EXPECT_FALSE(reader.try_lock_for(10ms));
    EXPECT_FALSE(reader.try_lock_until(std::chrono::steady_clock::now() + 10ms));
  }).join();
}

TEST_P(MutexTest, TheThreadThatLockedIsTheOwner) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  const std::scoped_lock guard(mutex);
  std::thread([&] {
    EXPECT_FALSE(mutex.held());
    EXPECT_EQ(mutex.token(), Token());
    EXPECT_FALSE(mutex.try_lock());
    mutex.unlock();  // Not ours: nothing happens.
  }).join();
  EXPECT_TRUE(mutex.held());
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
}

TEST_P(MutexTest, LockingTwiceInOneThreadSaysThatItWouldDeadlock) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  const std::scoped_lock guard(mutex);
  EXPECT_EQ(thrown_by([&] { mutex.lock(); }), "would_deadlock");
  EXPECT_FALSE(mutex.try_lock());
  EXPECT_TRUE(mutex.held());
}

TEST_P(MutexTest, UnlockOfALostLockDoesNotReleaseTheNextThreads) {
  Client client = open();
  Mutex mutex = client.mutex("x", fading());
  mutex.lock();
  const std::stop_token lost = mutex.lost();
  std::thread other([&] {
    Mutex theirs = client.mutex("x");
    const std::scoped_lock guard(theirs);  // Gets in when ours has ended.
    EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
    pause_for(50ms);
    EXPECT_TRUE(theirs.held());
    EXPECT_EQ(client.inspect("x").value().holders.at(0).token, theirs.token());
  });
  EXPECT_TRUE(eventually([&] { return !mutex.held(); }));
  EXPECT_TRUE(eventually([&] {
    return client.inspect("x").value().holders.empty() ||
           client.inspect("x").value().last_token > mutex.token();
  }));
  mutex.unlock();
  other.join();
}

TEST_P(MutexTest, AManyThreadedCounterIsExact) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  int counter = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        const std::scoped_lock guard(mutex);
        ++counter;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, 400);
}

TEST_P(MutexTest, WithLockRunsUnderTheLockAndReturnsTheResult) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  const Result<int> answer = with_lock(mutex, [&](std::stop_token lost, Token token) {
    EXPECT_FALSE(lost.stop_requested());
    EXPECT_EQ(client.inspect("x").value().holders.at(0).token, token);
    return 42;
  });
  ASSERT_EQ(outcome_of(answer), "granted");
  EXPECT_EQ(*answer, 42);
  EXPECT_EQ(outcome_of(with_lock(mutex, [](std::stop_token, Token) {})), "granted");
  expect_nothing_left(client, "x");
}

TEST_P(MutexTest, WithLockDropsAResultWhoseLockWasLost) {
  Client client = open();
  Mutex mutex = client.mutex("x", brief());
  const Result<int> answer = with_lock(mutex, [&](std::stop_token lost, Token token) {
    EXPECT_TRUE(client.evict("x", token));
    EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
    return 42;
  });
  EXPECT_EQ(outcome_of(answer), "not_held");
}

TEST_P(MutexTest, WithLockReleasesWhenTheFunctionThrows) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  const auto fail = [](std::stop_token, Token) -> int { throw std::runtime_error("mine"); };
  EXPECT_THROW(static_cast<void>(with_lock(mutex, fail)), std::runtime_error);
  expect_nothing_left(client, "x");
}

TEST_P(MutexTest, WithLockSaysWhyThereWasNoLock) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  const Lease lease = mutex.acquire().value();
  std::stop_source stop;
  stop.request_stop();
  bool ran = false;
  const auto note = [&](std::stop_token, Token) { ran = true; };
  EXPECT_EQ(outcome_of(with_lock(mutex, note, stop.get_token())), "cancelled");
  EXPECT_FALSE(ran);
}

}  // namespace holdfast::contract
