// Completion tokens, executors and allocators.
#include "asio_testing.h"

namespace holdfast::BRIDGE::test {

class SUITE(Completion) : public Fixture {};

#ifdef HAS_CO_AWAIT
TEST_F(SUITE(Completion), AnAwaitableAcquiresAndReleasesOnItsExecutor) {
  net::io_context context;
  std::vector<Token> tokens;
  const auto body = [&]() -> net::awaitable<void> {
    for (int i = 0; i < 20; ++i) {
      Result<Lease> lease = co_await initiate(mutex.async_acquire(), net::use_awaitable);
      EXPECT_EQ(outcome_of(lease), "granted");
      EXPECT_TRUE(context.get_executor().running_in_this_thread());
      tokens.push_back(lease->token());
      const Result<void> released = co_await initiate(lease->async_release(), net::use_awaitable);
      EXPECT_EQ(outcome_of(released), "granted");
    }
  };
  net::co_spawn(context, body(), net::detached);
  context.run();
  ASSERT_EQ(tokens.size(), 20U);
  EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
  EXPECT_TRUE(nothing_left("x"));
}

#if NET_VERSION >= 102300
TEST_F(SUITE(Completion), AnAwaitableAwaitsAnAsyncItself) {
  net::io_context context;
  std::string said;
  const auto body = [&]() -> net::awaitable<void> {
    Result<Lease> lease = co_await mutex.async_acquire();
    EXPECT_TRUE(context.get_executor().running_in_this_thread());
    said = outcome_of(lease);
    const Result<void> released = co_await lease->async_release();
    said += " " + outcome_of(released);
  };
  net::co_spawn(context, body(), net::detached);
  context.run();
  EXPECT_EQ(said, "granted granted");
}
#endif
#endif

#ifdef HAS_DEFERRED
TEST_F(SUITE(Completion), ADeferredOperationBeginsWhenItIsStarted) {
  auto deferred = initiate(mutex.async_acquire(), net::deferred);
  EXPECT_EQ(holders("x"), 0U);
  std::future<Result<Lease>> lease = std::move(deferred)(net::use_future);
  ASSERT_TRUE(arrives(lease));
  EXPECT_EQ(outcome_of(lease.get()), "granted");
}
#endif

TEST_F(SUITE(Completion), AFutureHasTheResult) {
  std::future<Result<Lease>> lease = initiate(mutex.async_acquire(), net::use_future);
  ASSERT_TRUE(arrives(lease));
  Result<Lease> held = lease.get();
  EXPECT_EQ(outcome_of(held), "granted");
  std::future<Result<Lease>> busy = mutex.async_try_acquire()(net::use_future);
  ASSERT_TRUE(arrives(busy));
  EXPECT_EQ(outcome_of(busy.get()), "busy");
}

TEST_F(SUITE(Completion), AHandlerIsPostedToItsExecutorAndNeverRunsInsideInitiate) {
  net::io_context context;
  std::optional<std::thread::id> ran_on;
  initiate(mutex.async_acquire(),
           net::bind_executor(context, [&, mine = std::make_unique<int>(1)](Result<Lease> lease) {
             EXPECT_EQ(outcome_of(lease), "granted");
             EXPECT_EQ(*mine, 1);
             ran_on = std::this_thread::get_id();
           }));
  // Granted, but nobody runs the context yet.
  ASSERT_TRUE(eventually([&] { return holders("x") == 1; }));
  EXPECT_FALSE(ran_on);
  context.run();  // Ends by itself: no work is left.
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST_F(SUITE(Completion), AnOperationUnderWayIsWorkOfItsExecutor) {
  Lease lease = other.mutex("x").acquire().value();
  net::io_context context;
  std::string said;
  initiate(mutex.async_acquire(),
           net::bind_executor(context, [&](Result<Lease> mine) { said = outcome_of(mine); }));
  std::future<void> ended = std::async(std::launch::async, [&] { context.run(); });
  ASSERT_TRUE(waits("x"));
  EXPECT_FALSE(is_ready(ended));
  ASSERT_TRUE(lease.release());
  ASSERT_TRUE(arrives(ended));
  EXPECT_EQ(said, "granted");
}

TEST_F(SUITE(Completion), WithoutAnExecutorAHandlerRunsOnAThreadOfAsios) {
  std::promise<std::thread::id> ran_on;
  std::promise<std::thread::id> callbacks;
  mutex.async_try_acquire().then(
      [&](Result<Lease>) { callbacks.set_value(std::this_thread::get_id()); });
  initiate(client.async_ping(), [&](Result<void> answer) {
    EXPECT_EQ(outcome_of(answer), "granted");
    ran_on.set_value(std::this_thread::get_id());
  });
  const std::thread::id thread = ran_on.get_future().get();
  EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_NE(thread, callbacks.get_future().get());
}

TEST_F(SUITE(Completion), AStrandKeepsHandlersApart) {
  net::thread_pool pool(4);
  auto strand = net::make_strand(pool);
  constexpr int kCalls = 200;
  std::promise<void> all;
  int inside = 0;  // guarded by the strand
  int done = 0;
  for (int i = 0; i < kCalls; ++i) {
    initiate(client.mutex("y" + std::to_string(i)).async_acquire(),
             net::bind_executor(strand, [&](Result<Lease> lease) {
               EXPECT_EQ(outcome_of(lease), "granted");
               EXPECT_EQ(++inside, 1);
               std::this_thread::yield();
               --inside;
               if (++done == kCalls) all.set_value();
             }));
  }
  std::future<void> finished = all.get_future();
  EXPECT_TRUE(arrives(finished));
  pool.join();
}

// Counts what is allocated by it.
template <class T>
struct Counting {
  using value_type = T;
  explicit Counting(std::atomic<int>& the_count) : count(&the_count) {}
  template <class U>
  Counting(const Counting<U>& from) : count(from.count) {}  // NOLINT(google-explicit-constructor)
  T* allocate(std::size_t size) {
    ++*count;
    return std::allocator<T>().allocate(size);
  }
  void deallocate(T* memory, std::size_t size) { std::allocator<T>().deallocate(memory, size); }
  template <class U>
  bool operator==(const Counting<U>& with) const {
    return count == with.count;
  }
  std::atomic<int>* count;
};

struct AllocatingHandler {
  using allocator_type = Counting<char>;
  allocator_type get_allocator() const noexcept { return Counting<char>(*count); }
  using executor_type = net::io_context::executor_type;
  executor_type get_executor() const noexcept { return context->get_executor(); }
  void operator()(Result<void> answer) { *said = outcome_of(answer); }

  std::atomic<int>* count;
  net::io_context* context;
  std::string* said;
};

TEST_F(SUITE(Completion), TheHandlersAllocatorIsUsed) {
  std::atomic<int> count = 0;
  net::io_context context;
  std::string said;
  initiate(client.async_ping(), AllocatingHandler{&count, &context, &said});
  context.run();
  EXPECT_EQ(said, "granted");
  EXPECT_GT(count, 0);
}

TEST_F(SUITE(Completion), WhatIsOverAtOnceIsPostedAsWell) {
  net::io_context context;
  Mutex moved = std::move(mutex);
  std::string said;
  const auto note = [&](Result<Lease> lease) {
    said = lease ? "granted" : code_name(lease.code());
  };
  initiate(mutex.async_acquire(),
           net::bind_executor(context, note));  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(said, "");
  context.run();
  EXPECT_EQ(said, "closed");
}

}  // namespace holdfast::BRIDGE::test
