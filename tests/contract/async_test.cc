// The asynchronous forms: awaited inside the loop, awaited elsewhere, and with callbacks.
#include <latch>

#include "contract.h"
#include "probe.h"

namespace holdfast::contract {

HOLDFAST_CONTRACT(AsyncTest);

namespace {

// A coroutine of somebody else's: it knows nothing of our loop.
struct Foreign {
  struct promise_type {
    Foreign get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

}  // namespace

TEST_P(AsyncTest, AwaitingInsideTheLoopAcquiresAndReleases) {
  Client client = open();
  int rounds = 0;
  const auto body = [&](Mutex mutex) -> Task<void> {
    Token last;
    for (; rounds < 100; ++rounds) {
      Result<Lease> lease = co_await mutex.async_acquire();
      EXPECT_EQ(outcome_of(lease), "granted");
      EXPECT_GT(lease->token(), last);
      last = lease->token();
      const Result<void> released = co_await lease->async_release();
      EXPECT_EQ(outcome_of(released), "granted");
    }
  };
  client.run(body(client.mutex("x")));
  EXPECT_EQ(rounds, 100);
  expect_nothing_left(client, "x");
}

TEST_P(AsyncTest, HundredsOfClaimsAreInFlightOnOneThread) {
  Probe probe(url());
  Client other = open();
  constexpr int kClaims = 400;
  std::vector<Token> tokens;
  int inside = 0;
  Mutex mutex = probe.client->mutex("x");
  Lease first = other.mutex("x").acquire().value();
  const auto claim = [&](int) -> Task<void> {
    Result<Lease> lease = co_await mutex.async_acquire();
    EXPECT_EQ(outcome_of(lease), "granted");
    EXPECT_EQ(++inside, 1);
    tokens.push_back(lease->token());
    --inside;
    const Result<void> released = co_await lease->async_release();
    EXPECT_EQ(outcome_of(released), "granted");
  };
  const auto all = [&]() -> Task<void> {
    TaskGroup group(*probe.runtime);
    for (int i = 0; i < kClaims; ++i) group.spawn(claim(i));
    EXPECT_EQ(group.size(), std::size_t{kClaims}) << "somebody did not wait";
    // Only now does the lock come free, by another client's hand.
    std::thread releaser([&] { EXPECT_TRUE(first.release()); });
    EXPECT_TRUE(co_await group.join(Deadline::at(BootClock::now() + 60s)));
    releaser.join();
  };
  probe.client->run(all());
  ASSERT_EQ(tokens.size(), std::size_t{kClaims});
  EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
  expect_nothing_left(other, "x");
}

TEST_P(AsyncTest, CallbacksAreCalledOnceEachOutsideTheLoop) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  constexpr int kClaims = 200;
  std::latch done(kClaims);
  std::atomic<int> granted = 0;
  for (int i = 0; i < kClaims; ++i) {
    mutex.async_acquire().then([&](Result<Lease> lease) {
      if (lease) ++granted;
      // Blocking calls are allowed here.
      EXPECT_EQ(outcome_of(lease->release()), "granted");
      EXPECT_EQ(outcome_of(client.inspect("y")), "granted");
      done.count_down();
    });
  }
  done.wait();
  EXPECT_EQ(granted, kClaims);
  expect_nothing_left(client, "x");
}

TEST_P(AsyncTest, CallbacksBegunFromManyThreadsAllArrive) {
  Client client = open();
  constexpr int kThreads = 8;
  constexpr int kEach = 30;
  std::latch done(kThreads * kEach);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      Mutex mutex = client.mutex("x");
      for (int round = 0; round < kEach; ++round) {
        mutex.async_acquire().then([&](Result<Lease> lease) {
          EXPECT_EQ(outcome_of(lease), "granted");
          done.count_down();
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  done.wait();
  EXPECT_TRUE(eventually([&] { return holders(client, "x") == 0; }));
  expect_nothing_left(client, "x");
}

TEST_P(AsyncTest, ACoroutineOfAnotherKindCanAwaitAndIsResumedOutsideTheLoop) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  Lease first = mutex.acquire().value();
  std::promise<std::string> outcome;
  std::thread::id resumed_on;
  const auto body = [&]() -> Foreign {
    Result<Lease> lease = co_await mutex.async_acquire();
    resumed_on = std::this_thread::get_id();
    // We are not in the loop: blocking is allowed.
    outcome.set_value(outcome_of(lease) + " " + outcome_of(lease->release()));
  };
  body();
  std::future<std::string> said = outcome.get_future();
  EXPECT_FALSE(is_ready(said));
  ASSERT_TRUE(first.release());
  ASSERT_TRUE(arrives(said));
  EXPECT_EQ(said.get(), "granted granted");
  EXPECT_NE(resumed_on, std::this_thread::get_id());
}

TEST_P(AsyncTest, ABlockingCallInsideTheLoopWouldDeadlockAndSaysSo) {
  Client client = open();
  Client other = open();
  Mutex mutex = client.mutex("x");
  std::vector<std::string> said;
  // A call that returns a Result does not throw (result.h).
  const auto note = [&](const std::function<std::string()>& call) {
    try {
      said.push_back(call());
    } catch (const LockError& error) {
      said.push_back(std::string("threw ") + code_name(error.code()));
    }
  };
  const auto body = [&]() -> Task<void> {
    note([&] { return outcome_of(mutex.acquire()); });
    note([&] { return outcome_of(mutex.try_acquire()); });
    note([&] { return outcome_of(client.inspect("x")); });
    note([&] { return outcome_of(client.list()); });
    note([&] { return thrown_by([&] { mutex.lock(); }); });
    // Another client's loop is not ours.
    note([&] { return outcome_of(other.inspect("x")); });
    co_return;
  };
  client.run(body());
  EXPECT_THAT(said, testing::ElementsAre("would_deadlock", "would_deadlock", "would_deadlock",
                                         "would_deadlock", "would_deadlock", "granted"));
}

TEST_P(AsyncTest, AStopTokenEndsAnAsynchronousWait) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  const Lease lease = mutex.acquire().value();
  std::stop_source stop;
  std::promise<std::string> outcome;
  mutex.async_acquire(stop.get_token()).then([&](Result<Lease> got) {
    outcome.set_value(outcome_of(got));
  });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  stop.request_stop();
  std::future<std::string> said = outcome.get_future();
  ASSERT_TRUE(arrives(said));
  EXPECT_EQ(said.get(), "cancelled");
  EXPECT_EQ(waiters(client, "x"), 0U);
}

TEST_P(AsyncTest, TimedAndTryFormsAnswerBusy) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  const Lease lease = mutex.acquire().value();
  EXPECT_EQ(outcome_of(mutex.async_try_acquire().get()), "busy");
  EXPECT_EQ(outcome_of(mutex.async_try_acquire_for(20ms).get()), "busy");
  EXPECT_EQ(waiters(client, "x"), 0U);
}

TEST_P(AsyncTest, AnAsyncThatIsDroppedDoesNothing) {
  Client client = open();
  {
    auto dropped = client.mutex("x").async_acquire();
  }
  EXPECT_EQ(holders(client, "x"), 0U);
  EXPECT_EQ(client.inspect("x").value().last_token, Token());
}

TEST_P(AsyncTest, ALeaseDestroyedInsideTheLoopIsReleased) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  const auto body = [&]() -> Task<void> {
    for (int i = 0; i < 20; ++i) {
      const Result<Lease> lease = co_await mutex.async_acquire();
      EXPECT_EQ(outcome_of(lease), "granted");
    }
  };
  client.run(body());
  EXPECT_TRUE(eventually([&] { return holders(client, "x") == 0; }));
}

TEST_P(AsyncTest, AnExceptionInsideTheLoopComesOutOfRun) {
  Client client = open();
  const auto body = [&]() -> Task<void> {
    static_cast<void>(co_await client.mutex("x").async_acquire());
    throw std::runtime_error("mine");
  };
  EXPECT_THROW(client.run(body()), std::runtime_error);
  EXPECT_EQ(outcome_of(client.mutex("y").try_acquire()), "granted") << "the loop lives on";
}

// GCC 12 moves the temporaries of such an expression byte by byte.
TEST_P(AsyncTest, OptionsInsideAnAwaitExpressionArriveWhole) {
  Client client = open();
  Client watcher = open();
  const std::string label(50, 'x');  // some engines cut longer ones
  const auto body = [&]() -> Task<void> {
    const Result<Lease> lease =
        co_await client.mutex("x", {.ttl = 30s, .label = label, .owner = "job-7"}).async_acquire();
    EXPECT_EQ(outcome_of(lease), "granted");
    const Result<LockInfo> info = co_await watcher.async_inspect("x");
    EXPECT_TRUE(info.ok() && info->holders.size() == 1);
    if (!info || info->holders.size() != 1) co_return;
    EXPECT_EQ(info->holders[0].label, label);
    EXPECT_EQ(info->holders[0].owner, "job-7");
  };
  client.run(body());
}

TEST_P(AsyncTest, TheLastReferenceToAClientMayDieInItsOwnCallback) {
  Client watcher = open();
  std::promise<void> gone;
  {
    auto client = std::make_shared<Client>(open());
    Mutex mutex = client->mutex("x");
    mutex.async_acquire().then([client, &gone](Result<Lease> lease) mutable {
      EXPECT_EQ(outcome_of(lease), "granted");
      client.reset();
      gone.set_value();
    });
  }
  std::future<void> done = gone.get_future();
  ASSERT_TRUE(arrives(done));
  EXPECT_TRUE(eventually([&] { return holders(watcher, "x") == 0; }));
}

TEST_P(AsyncTest, BlockingAndAsynchronousCallersShareOneClient) {
  Client client = open();
  std::atomic<int> inside = 0;
  std::latch called_back(60);
  std::vector<std::thread> threads;
  const auto pass = [&] {
    EXPECT_EQ(++inside, 1);
    --inside;
  };
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      Mutex mutex = client.mutex("x");
      for (int round = 0; round < 20; ++round) {
        mutex.async_acquire().then([&](Result<Lease> lease) {
          if (lease) pass();
          called_back.count_down();
        });
        const Lease lease = mutex.acquire().value();
        pass();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  called_back.wait();
  EXPECT_TRUE(eventually([&] { return holders(client, "x") == 0; }));
}

}  // namespace holdfast::contract
