#include "base/real_runtime.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <functional>
#include <future>
#include <random>
#include <thread>
#include <vector>

#include "holdfast/result.h"

namespace holdfast::internal {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

// Far longer than anything takes that goes right, also on a busy machine.
constexpr Duration kPatience = 20s;

Task<void> sleep_for(Runtime& runtime, Duration span, std::stop_token stop = {}) {
  co_await sleep_until(runtime, runtime.now() + span, std::move(stop));
}

TEST(RealRuntimeTest, ABlockingCallRunsToItsEndOnTheCallersThread) {
  RealRuntime runtime;
  std::thread::id ran_on;
  const auto body = [&]() -> Task<void> {
    EXPECT_TRUE(runtime.inside());
    co_await sleep_for(runtime, 5ms);
    ran_on = std::this_thread::get_id();
  };
  runtime.block_on(body());
  EXPECT_EQ(ran_on, std::this_thread::get_id()) << "a single caller pays no thread hop";
  EXPECT_FALSE(runtime.inside());
}

TEST(RealRuntimeTest, SleepDoesNotEndEarly) {
  RealRuntime runtime;
  for (const Duration span : {Duration(0ms), Duration(1ms), Duration(30ms)}) {
    const BootTime begin = runtime.now();
    runtime.block_on(sleep_for(runtime, span));
    EXPECT_GE(runtime.now() - begin, span);
  }
}

TEST(RealRuntimeTest, AnExceptionComesOutOfTheBlockingCall) {
  RealRuntime runtime;
  const auto body = [&]() -> Task<void> {
    co_await sleep_for(runtime, 1ms);
    throw std::runtime_error("mine");
  };
  EXPECT_THROW(runtime.block_on(body()), std::runtime_error);
  runtime.block_on(sleep_for(runtime, 1ms));
}

TEST(RealRuntimeTest, ABlockingCallInsideTheLoopIsRefused) {
  RealRuntime runtime;
  Code code = Code::busy;
  const auto body = [&]() -> Task<void> {
    try {
      runtime.block_on(sleep_for(runtime, 1ms));
    } catch (const LockError& error) {
      code = error.code();
    }
    co_return;
  };
  runtime.block_on(body());
  EXPECT_EQ(code, Code::would_deadlock);
}

// The background thread must drive what nobody waits for: also when no blocking call ever waited.
TEST(RealRuntimeTest, DetachedWorkGoesOnWithoutACaller) {
  RealRuntime runtime;
  std::promise<void> done;
  const auto body = [&]() -> Task<void> {
    co_await sleep_for(runtime, 5ms);
    done.set_value();
  };
  runtime.start(body());
  EXPECT_EQ(done.get_future().wait_for(kPatience), std::future_status::ready);
}

class Alarm final : public Timer {
 public:
  void on_time() override { rung.set_value(); }
  std::promise<void> rung;
};

TEST(RealRuntimeTest, ATimerRingsAfterABlockingCallThatDidNotWait) {
  RealRuntime runtime;
  Alarm alarm;
  const auto body = [&]() -> Task<void> {
    runtime.arm(alarm, runtime.now() + 5ms);
    co_return;
  };
  runtime.block_on(body());
  EXPECT_EQ(alarm.rung.get_future().wait_for(kPatience), std::future_status::ready)
      << "nobody drives the loop: renewals would never happen";
}

TEST(RealRuntimeTest, AnEarlierTimerIsNotHeldUpByALaterOne) {
  RealRuntime runtime;
  std::jthread sleeper(
      [&](std::stop_token stop) { runtime.block_on(sleep_for(runtime, 1h, std::move(stop))); });
  std::this_thread::sleep_for(10ms);
  const BootTime begin = runtime.now();
  runtime.block_on(sleep_for(runtime, 20ms));
  EXPECT_LT(runtime.now() - begin, kPatience);
}

TEST(RealRuntimeTest, AStopTokenFromAnotherThreadWakesAWaiter) {
  RealRuntime runtime;
  for (int i = 0; i < 50; ++i) {
    std::stop_source stop;
    auto waiting = std::async(std::launch::async,
                              [&] { runtime.block_on(sleep_for(runtime, 1h, stop.get_token())); });
    if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(i * 10));
    stop.request_stop();
    ASSERT_EQ(waiting.wait_for(kPatience), std::future_status::ready) << i;
  }
}

TEST(RealRuntimeTest, ManyBlockedCallersAllComeBack) {
  RealRuntime runtime;
  std::vector<std::thread> threads;
  std::atomic<int> back = 0;
  for (int i = 0; i < 32; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        runtime.block_on(
            sleep_for(runtime, std::chrono::microseconds((i * 37 + round * 11) % 900)));
      }
      ++back;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(back, 32);
}

TEST(RealRuntimeTest, ACallerWhoIsAloneAgainPaysNoThreadHop) {
  RealRuntime runtime;
  std::vector<std::thread> crowd;
  for (int i = 0; i < 8; ++i) {
    crowd.emplace_back([&] {
      for (int round = 0; round < 10; ++round) runtime.block_on(sleep_for(runtime, 1ms));
    });
  }
  for (std::thread& caller : crowd) caller.join();
  const BootTime give_up = runtime.now() + kPatience;
  std::thread::id ran_on;
  const auto body = [&]() -> Task<void> {
    co_await sleep_for(runtime, 2ms);
    ran_on = std::this_thread::get_id();
  };
  while (ran_on != std::this_thread::get_id() && runtime.now() < give_up) runtime.block_on(body());
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

// One caller's call is finished by another's hand: it must not sleep on.
TEST(RealRuntimeTest, CallersCanWakeEachOther) {
  RealRuntime runtime;
  for (int i = 0; i < 200; ++i) {
    auto event = std::make_unique<Event>(runtime);
    const auto wait = [&]() -> Task<void> { co_await event->wait(); };
    const auto set = [&]() -> Task<void> {
      event->set();
      co_return;
    };
    auto waiting = std::async(std::launch::async, [&] { runtime.block_on(wait()); });
    if (i % 3 == 0) std::this_thread::sleep_for(100us);
    runtime.block_on(set());
    ASSERT_EQ(waiting.wait_for(kPatience), std::future_status::ready) << i;
    waiting.get();
    const auto destroy = [&]() -> Task<void> {
      event.reset();
      co_return;
    };
    runtime.block_on(destroy());
  }
}

TEST(RealRuntimeTest, OnlyOneThreadIsInsideAtATime) {
  RealRuntime runtime;
  std::atomic<int> inside = 0;
  std::atomic<int> overlaps = 0;
  const auto body = [&]() -> Task<void> {
    for (int i = 0; i < 10; ++i) {
      if (++inside != 1) ++overlaps;
      --inside;
      co_await sleep_for(runtime, 50us);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { runtime.block_on(body()); });
  for (int i = 0; i < 8; ++i) runtime.start(body());
  for (std::thread& thread : threads) thread.join();
  runtime.block_on(sleep_for(runtime, 50ms));
  EXPECT_EQ(overlaps, 0);
}

TEST(RealRuntimeTest, UserCallbacksRunOutsideTheLoopOneAfterTheOther) {
  RealRuntime runtime;
  std::vector<int> order;
  std::promise<void> done;
  const auto body = [&]() -> Task<void> {
    for (int i = 0; i < 10; ++i) {
      runtime.call_user([&, i] {
        EXPECT_FALSE(runtime.inside());
        order.push_back(i);
        if (i == 9) done.set_value();
      });
    }
    co_return;
  };
  runtime.block_on(body());
  ASSERT_EQ(done.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(order.size(), 10U);
}

TEST(RealRuntimeTest, AnIdleRuntimeUsesNoProcessorTime) {
  RealRuntime runtime;
  Alarm later;
  const auto arm = [&]() -> Task<void> {
    runtime.arm(later, runtime.now() + 1h);
    co_return;
  };
  runtime.block_on(arm());
  std::this_thread::sleep_for(20ms);
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(500ms);
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 20) << "the background thread polls";
  const auto disarm = [&]() -> Task<void> {
    runtime.disarm(later);
    co_return;
  };
  runtime.block_on(disarm());
}

// Says that an answer is due, and never has one.
class VainLookout final : public Lookout {
 public:
  bool expecting() const override { return true; }
  bool look() override {
    looked = true;
    return false;
  }
  std::atomic<bool> looked = false;
};

// Where a driver leaves others behind who wait for nothing but a word of a third.
TEST(RealRuntimeTest, ACrowdThatWaitsUsesNoProcessorTime) {
  RealRuntime runtime;
  auto event = std::make_unique<Event>(runtime);
  const auto wait = [&]() -> Task<void> { co_await event->wait(); };
  std::vector<std::future<void>> crowd;
  std::future<void> driver =
      std::async(std::launch::async, [&] { runtime.block_on(sleep_for(runtime, 100ms)); });
  std::this_thread::sleep_for(20ms);
  for (int i = 0; i < 4; ++i) {
    crowd.push_back(std::async(std::launch::async, [&] { runtime.block_on(wait()); }));
  }
  ASSERT_EQ(driver.wait_for(kPatience), std::future_status::ready);
  std::this_thread::sleep_for(50ms);
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(500ms);
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 20) << "somebody polls";
  const auto set = [&]() -> Task<void> {
    event->set();
    co_return;
  };
  runtime.block_on(set());
  for (std::future<void>& each : crowd) {
    EXPECT_EQ(each.wait_for(kPatience), std::future_status::ready);
  }
  const auto destroy = [&]() -> Task<void> {
    event.reset();
    co_return;
  };
  runtime.block_on(destroy());
}

// While the driver looks for an answer, who blocks leaves to it what is ready. The end of the
// driver's own call may be among it, and then the driver must not go to sleep.
TEST(RealRuntimeTest, ADriverWhoseCallEndsWhileItLooksIsDone) {
  constexpr Duration kLong = 5s;
  for (int round = 0; round < 50; ++round) {
    RealRuntime runtime;
    VainLookout lookout;
    Event first_ended(runtime);
    Event second_ended(runtime);
    std::atomic<bool> watching = false;
    std::thread second([&] {
      watching = true;
      while (!lookout.looked) std::this_thread::yield();
      const auto end_the_first = [&]() -> Task<void> {
        first_ended.set();
        co_await second_ended.wait(Deadline::at(runtime.now() + kLong));
      };
      runtime.block_on(end_the_first());
    });
    while (!watching) std::this_thread::yield();
    const BootTime begin = runtime.now();
    const auto wait = [&]() -> Task<void> {
      runtime.add_lookout(lookout);
      co_await first_ended.wait();
      runtime.remove_lookout(lookout);
    };
    runtime.block_on(wait());
    const Duration took = runtime.now() - begin;
    const auto end_the_second = [&]() -> Task<void> {
      second_ended.set();
      co_return;
    };
    runtime.block_on(end_the_second());
    second.join();
    ASSERT_LT(took, kLong) << "it slept although it was done";
  }
}

// Has an answer for whoever asked.
class AnsweringLookout final : public Lookout {
 public:
  explicit AnsweringLookout(Event& answered) : answered_(answered) {}
  bool expecting() const override { return true; }
  bool look() override {
    looked = true;
    if (!asked) return false;
    answered_.set();
    return true;
  }
  bool asked = false;
  std::atomic<bool> looked = false;

 private:
  Event& answered_;
};

// The background thread looks, a caller blocks, and its answer is found: the role is offered to a
// caller who is done before it can take it, and must come back to the background thread.
TEST(RealRuntimeTest, ARoleThatNobodyTakesIsNotLost) {
  for (int round = 0; round < 50; ++round) {
    RealRuntime runtime;
    Event answered(runtime);
    AnsweringLookout lookout(answered);
    std::promise<void> rang;
    const auto look_and_ring = [&]() -> Task<void> {
      runtime.add_lookout(lookout);
      co_await sleep_for(runtime, 5ms);
      runtime.remove_lookout(lookout);
      rang.set_value();
    };
    runtime.start(look_and_ring());
    const std::future<void> ringing = rang.get_future();
    const auto rings_within = [&](Duration patience) {
      return ringing.wait_for(patience) == std::future_status::ready;
    };
    while (!lookout.looked && !rings_within(Duration(0))) std::this_thread::yield();
    if (!lookout.looked) continue;  // A busy machine: the background thread came too late to look.
    const auto ask = [&]() -> Task<void> {
      lookout.asked = true;
      // (Nobody answers if the background thread had stopped to look by now: then for nothing.)
      co_await answered.wait(Deadline::at(runtime.now() + 50ms));
    };
    runtime.block_on(ask());
    const bool in_time = rings_within(kPatience);
    EXPECT_TRUE(in_time) << "nobody drives, and a timer waits, in round " << round;
    if (!in_time) runtime.block_on(sleep_for(runtime, 1ms));
    ASSERT_TRUE(in_time);
  }
}

// The driver's call may end by another thread's hand in each of its states: as it runs, looks or waits in epoll.
TEST(RealRuntimeTest, ADriverComesBackWhenAnotherThreadEndsItsCall) {
  RealRuntime runtime;
  VainLookout lookout;
  for (int round = 0; round < 300; ++round) {
    const bool looks = round % 2 == 0;
    Event ended(runtime);
    std::promise<void> begun;
    const auto wait = [&]() -> Task<void> {
      if (looks) runtime.add_lookout(lookout);
      begun.set_value();
      co_await ended.wait();
      runtime.remove_lookout(lookout);
    };
    auto driver = std::async(std::launch::async, [&] { runtime.block_on(wait()); });
    begun.get_future().wait();
    if (round % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(round));
    const auto end = [&]() -> Task<void> {
      ended.set();
      co_return;
    };
    runtime.start(end());
    ASSERT_EQ(driver.wait_for(kPatience), std::future_status::ready) << round;
  }
}

// ---- When things go wrong ----------------------------------------------------------------------

// Rings once, and throws.
class ThrowingTimer final : public Timer {
 public:
  void on_time() override { throw std::bad_alloc(); }
};

Task<void> arm(RealRuntime& runtime, Timer& timer, Duration after) {
  runtime.arm(timer, runtime.now() + after);
  co_return;
}

TEST(RealRuntimeTest, AnExceptionWhileDrivingReachesTheCallerAndLeavesTheRoleFree) {
  RealRuntime runtime;
  ThrowingTimer timer;
  bool unwound = false;
  const auto body = [&]() -> Task<void> {
    struct Unwinding {
      bool& done;
      ~Unwinding() { done = true; }
    } unwinding{unwound};
    runtime.arm(timer, runtime.now() + 1ms);
    co_await sleep_for(runtime, kPatience);
  };
  EXPECT_THROW(runtime.block_on(body()), std::bad_alloc);
  EXPECT_TRUE(unwound) << "the call is forgotten, not left behind";
  const BootTime begin = runtime.now();
  runtime.block_on(sleep_for(runtime, 5ms));
  EXPECT_LT(runtime.now() - begin, kPatience);
}

TEST(RealRuntimeTest, AnExceptionOnTheBackgroundThreadDoesNotEndIt) {
  RealRuntime runtime;
  ThrowingTimer timer;
  std::promise<void> rang;
  const auto ring = [&]() -> Task<void> {
    co_await sleep_for(runtime, 20ms);
    rang.set_value();
  };
  runtime.start(arm(runtime, timer, 2ms));
  runtime.start(ring());
  EXPECT_EQ(rang.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST(RealRuntimeTest, AnExceptionWhileOneDrivesForOthersIsNotTheirEnd) {
  RealRuntime runtime;
  ThrowingTimer timer;
  std::atomic<int> thrown = 0;
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  runtime.block_on(arm(runtime, timer, 5ms));
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      try {
        runtime.block_on(sleep_for(runtime, 50ms));
        ++done;
      } catch (const std::bad_alloc&) {
        ++thrown;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(thrown, 1);
  EXPECT_EQ(done + thrown, 4);
}

// Sleeps that end, are cancelled, throw, or are ended by a neighbour; with and without a thread that waits for them.
class Traffic {
 public:
  explicit Traffic(std::uint64_t seed) : seed_(seed) {}

  void run(int threads, Duration span) {
    const BootTime until = runtime_.now() + span;
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i) {
      running.emplace_back([this, i, until] {
        std::mt19937_64 random(seed_ + static_cast<std::uint64_t>(i));
        while (runtime_.now() < until) call(random);
      });
    }
    for (std::thread& thread : running) thread.join();
    const BootTime give_up = runtime_.now() + kPatience;
    while (detached_ > 0 && runtime_.now() < give_up) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(detached_, 0) << "nobody drives; seed " << seed_;
  }

 private:
  static Duration short_span(std::mt19937_64& random) {
    return std::chrono::microseconds(random() % 300);
  }

  void call(std::mt19937_64& random) {
    const Duration span = short_span(random);
    switch (random() % 6) {
      case 0:
        ++detached_;
        attempt([&] { runtime_.start(detached(span)); });
        break;
      case 1: {
        std::stop_source stop;
        std::thread stopping([&] { stop.request_stop(); });
        block(sleep_for(runtime_, kPatience, stop.get_token()));
        stopping.join();
        break;
      }
      case 2: {
        ThrowingTimer timer;
        block(throw_while_waiting(timer, span));
        break;
      }
      case 3: {
        Event event(runtime_);
        std::thread setting([&] { block(set(event)); });
        block(wait(event));
        setting.join();
        break;
      }
      case 4: block(look_and_sleep(span)); break;
      default: block(sleep_for(runtime_, span));
    }
  }

  void block(Task<void> task) {
    attempt([&] { runtime_.block_on(std::move(task)); });
  }
  static void attempt(const std::function<void()>& call) {
    try {
      call();
    } catch (const std::bad_alloc&) {
      // Of a timer, perhaps another caller's.
    }
  }

  Task<void> detached(Duration span) {
    co_await sleep_for(runtime_, span);
    --detached_;
  }
  Task<void> throw_while_waiting(Timer& timer, Duration span) {
    struct Disarming {
      RealRuntime& runtime;
      Timer& timer;
      ~Disarming() { runtime.disarm(timer); }
    } const disarming{runtime_, timer};
    runtime_.arm(timer, runtime_.now() + span);
    co_await sleep_for(runtime_, span);
  }
  static Task<void> set(Event& event) {
    event.set();
    co_return;
  }
  static Task<void> wait(Event& event) { co_await event.wait(); }
  Task<void> look_and_sleep(Duration span) {
    struct Looking {
      RealRuntime& runtime;
      VainLookout lookout;
      explicit Looking(RealRuntime& the_runtime) : runtime(the_runtime) {
        runtime.add_lookout(lookout);
      }
      ~Looking() { runtime.remove_lookout(lookout); }
    } const looking(runtime_);
    co_await sleep_for(runtime_, span);
  }

  std::uint64_t seed_;
  std::atomic<int> detached_ = 0;
  RealRuntime runtime_;
};

// A lost wake-up or a lost role shows as a call that never ends, two drivers as a broken requirement.
TEST(RealRuntimeTest, CallsOfAllKindsFromManyThreadsAllEnd) {
  const std::uint64_t seed = std::random_device()();
  for (const int threads : {2, 3, 16}) Traffic(seed).run(threads, 300ms);
}

}  // namespace
}  // namespace holdfast::internal
