// Cancellation, and what ends before an operation does.
#include "asio_testing.h"

namespace holdfast::BRIDGE::test {

class SUITE(Ending) : public Fixture {
 protected:
  // "cancelled", "granted", …
  static std::string word(const Result<Lease>& lease) {
    return lease ? "granted" : code_name(lease.code());
  }
};

#if NET_VERSION >= 101900
TEST_F(SUITE(Ending), ACancellationSlotEndsTheVeryOperationAndLeavesNothingBehind) {
  Lease lease = other.mutex("x").acquire().value();
  for (const auto type : {net::cancellation_type::terminal, net::cancellation_type::partial,
                          net::cancellation_type::total}) {
    net::io_context context;
    net::cancellation_signal signal;
    std::string cancelled;
    std::string went_on;
    const auto one = [&](Result<Lease> mine) { cancelled = word(mine); };
    const auto another = [&](Result<Lease> mine) { went_on = word(mine); };
    initiate(mutex.async_acquire(),
             net::bind_cancellation_slot(signal.slot(), net::bind_executor(context, one)));
    std::stop_source stop;
    initiate(mutex.async_acquire(stop.get_token()), net::bind_executor(context, another));
    ASSERT_TRUE(eventually([&] { return waiters("x") == 2; }));
    signal.emit(type);
    ASSERT_TRUE(waits("x"));
    stop.request_stop();
    context.run();
    EXPECT_EQ(cancelled, "cancelled");
    EXPECT_EQ(went_on, "cancelled");
    signal.emit(type);  // Nobody hears it: the slot was cleared.
  }
  ASSERT_TRUE(lease.release());
  EXPECT_TRUE(nothing_left("x"));
  EXPECT_EQ(outcome_of(mutex.try_acquire()), "granted");
}

TEST_F(SUITE(Ending), ASlotWorksBesideAStopTokenOfOnesOwn) {
  Lease lease = other.mutex("x").acquire().value();
  net::io_context context;
  net::cancellation_signal signal;
  std::stop_source never;
  std::string said;
  const auto note = [&](Result<Lease> mine) { said = word(mine); };
  initiate(mutex.async_acquire(never.get_token()),
           net::bind_cancellation_slot(signal.slot(), net::bind_executor(context, note)));
  ASSERT_TRUE(waits("x"));
  signal.emit(net::cancellation_type::all);
  context.run();
  EXPECT_EQ(said, "cancelled");
}

#ifdef HAS_CO_AWAIT
TEST_F(SUITE(Ending), ACancelledCoroutineTakesNoLock) {
  Lease lease = other.mutex("x").acquire().value();
  net::io_context context;
  net::cancellation_signal signal;
  std::string said;
  const auto body = [&]() -> net::awaitable<void> {
    said = word(co_await initiate(mutex.async_acquire(), net::use_awaitable));
  };
  net::co_spawn(context, body(), net::bind_cancellation_slot(signal.slot(), net::detached));
  const auto cancel = [&] { signal.emit(net::cancellation_type::terminal); };
  Running running(context);
  ASSERT_TRUE(waits("x"));
  net::post(context, cancel);
  running.join();
  EXPECT_EQ(said, "cancelled");
  ASSERT_TRUE(lease.release());
  EXPECT_TRUE(nothing_left("x"));
}

#ifdef HAS_AWAITABLE_OPERATORS
TEST_F(SUITE(Ending), ATimeoutByOperatorOrTakesNoLock) {
  using namespace net::experimental::awaitable_operators;
  const Lease lease = other.mutex("x").acquire().value();
  net::io_context context;
  std::size_t first = 9;
  const auto wait = [&]() -> net::awaitable<std::string> {
    co_return word(co_await initiate(mutex.async_acquire(), net::use_awaitable));
  };
  const auto body = [&]() -> net::awaitable<void> {
    net::steady_timer timer(context, 50ms);
    auto both = co_await (wait() || timer.async_wait(net::use_awaitable));
    first = both.index();
  };
  net::co_spawn(context, body(), net::detached);
  context.run();
  EXPECT_EQ(first, 1U);
  EXPECT_TRUE(eventually([&] { return waiters("x") == 0; }));
}
#endif
#endif
#endif

TEST_F(SUITE(Ending), AStopTokenEndsAWaitWithAnyAsio) {
  const Lease lease = other.mutex("x").acquire().value();
  net::io_context context;
  std::stop_source stop;
  std::string said;
  initiate(mutex.async_acquire(stop.get_token()),
           net::bind_executor(context, [&](Result<Lease> mine) { said = word(mine); }));
  ASSERT_TRUE(waits("x"));
  stop.request_stop();
  context.run();
  EXPECT_EQ(said, "cancelled");
  EXPECT_EQ(waiters("x"), 0U);
}

TEST_F(SUITE(Ending), AnOperationOutlivesItsClient) {
  Lease lease = other.mutex("x").acquire().value();
  net::io_context context;
  std::string said;
  {
    Client gone = open();
    initiate(gone.mutex("x").async_acquire(),
             net::bind_executor(context, [&](Result<Lease> mine) { said = word(mine); }));
    ASSERT_TRUE(waits("x"));
  }
  ASSERT_TRUE(lease.release());
  context.run();
  EXPECT_EQ(said, "granted");
  EXPECT_TRUE(nothing_left("x"));
}

TEST_F(SUITE(Ending), AStoppedContextCompletesWhenItRunsAgain) {
  net::io_context context;
  std::string said;
  context.stop();
  initiate(mutex.async_acquire(),
           net::bind_executor(context, [&](Result<Lease> mine) { said = word(mine); }));
  context.run();
  ASSERT_TRUE(eventually([&] { return holders("x") == 1; }));
  EXPECT_EQ(said, "");
  context.restart();
  context.run();
  EXPECT_EQ(said, "granted");
  EXPECT_TRUE(nothing_left("x"));
}

TEST_F(SUITE(Ending), ALeaseThatNobodyTookOutOfADestroyedContextIsReleased) {
  {
    net::io_context context;
    initiate(mutex.async_acquire(), net::bind_executor(context, [](Result<Lease>) {
               FAIL() << "nobody ran the context";
             }));
    ASSERT_TRUE(eventually([&] { return holders("x") == 1; }));
  }
  EXPECT_TRUE(nothing_left("x"));
}

TEST_F(SUITE(Ending), ADestroyedContextDestroysHandlersAndCancelsTheirOperations) {
  Lease lease = other.mutex("x").acquire().value();
  auto handler_lives = std::make_shared<int>();
  const std::weak_ptr<int> handler = handler_lives;
  {
    net::io_context context;
    initiate(mutex.async_acquire(),
             net::bind_executor(context, [lives = std::move(handler_lives)](Result<Lease>) {
               FAIL() << "called by a context that is gone";
             }));
    ASSERT_TRUE(waits("x"));
    EXPECT_FALSE(handler.expired());
  }
  EXPECT_TRUE(handler.expired());
  EXPECT_TRUE(eventually([&] { return waiters("x") == 0; }));
  ASSERT_TRUE(lease.release());
  EXPECT_TRUE(nothing_left("x"));
}

#ifdef HAS_CO_AWAIT
TEST_F(SUITE(Ending), ACoroutineThatWaitsIsDestroyedWithItsContext) {
  const Lease lease = other.mutex("x").acquire().value();
  auto frame_lives = std::make_shared<int>();
  const std::weak_ptr<int> frame = frame_lives;
  const auto body = [&](std::shared_ptr<int>) -> net::awaitable<void> {
    static_cast<void>(co_await initiate(mutex.async_acquire(), net::use_awaitable));
  };
  {
    net::io_context context;
    net::co_spawn(context, body(std::move(frame_lives)), net::detached);
    context.poll();
    ASSERT_TRUE(waits("x"));
    EXPECT_FALSE(frame.expired());
  }
  EXPECT_TRUE(frame.expired());
  EXPECT_TRUE(eventually([&] { return waiters("x") == 0; }));
}
#endif

// The context is destroyed at any moment: before, while and after operations complete.
TEST_F(SUITE(Ending), AContextMayBeDestroyedWhileOperationsComplete) {
  constexpr int kRounds = 150;
  constexpr int kCalls = 4;
  std::atomic<int> called = 0;
  for (int round = 0; round < kRounds; ++round) {
    auto context = std::make_unique<net::io_context>();
    for (int i = 0; i < kCalls; ++i) {
      initiate(client.mutex("y" + std::to_string(i)).async_try_acquire(),
               net::bind_executor(*context, [&](Result<Lease>) { ++called; }));
    }
    for (int spin = 0; spin < round * 40; ++spin) std::this_thread::yield();
    context->poll();
    context.reset();
  }
  EXPECT_LE(called, kRounds * kCalls);
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(nothing_left("y" + std::to_string(i)));
}

}  // namespace holdfast::BRIDGE::test
