#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "holdfast/runtime.h"
#include "lab/sim/sim_runtime.h"

namespace holdfast {
namespace {

using internal::SimRuntime;
using internal::SimWorld;
using std::chrono::seconds;

class EventTest : public testing::Test {
 protected:
  Task<void> wait(Deadline deadline, std::stop_token stop, std::optional<Woken>& why) {
    why = co_await event_.wait(deadline, std::move(stop));
  }
  void run_for(Duration span) {
    world_.run([] { return false; }, world_.now() + span);
  }
  Deadline in(Duration span) const { return Deadline::at(runtime_.now() + span); }

  SimWorld world_{1};
  SimRuntime runtime_{world_};
  Event event_{runtime_};
  TaskGroup group_{runtime_};
};

TEST_F(EventTest, ASetEventDoesNotSuspend) {
  event_.set();
  std::optional<Woken> why;
  group_.spawn(wait(Deadline::never(), {}, why));
  EXPECT_EQ(why, Woken::signalled);
}

TEST_F(EventTest, SetWakesAllWaitersInTheOrderInWhichTheyCame) {
  std::vector<int> order;
  const auto note = [&](int i) -> Task<void> {
    co_await event_.wait();
    order.push_back(i);
  };
  for (int i = 0; i < 4; ++i) group_.spawn(note(i));
  event_.set();
  EXPECT_TRUE(order.empty()) << "a waiter runs from the loop, not inside set()";
  run_for(seconds(0));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST_F(EventTest, ItStaysSetUntilItIsReset) {
  event_.set();
  event_.set();
  EXPECT_TRUE(event_.is_set());
  event_.reset();
  std::optional<Woken> why;
  group_.spawn(wait(in(seconds(1)), {}, why));
  EXPECT_FALSE(why.has_value());
  run_for(seconds(2));
  EXPECT_EQ(why, Woken::timed_out);
}

TEST_F(EventTest, ADeadlineInThePastTimesOutAtOnce) {
  std::optional<Woken> why;
  group_.spawn(wait(in(seconds(-1)), {}, why));
  EXPECT_EQ(why, Woken::timed_out);
}

TEST_F(EventTest, CancellationWinsOverTimeAndASignalOverCancellation) {
  std::stop_source stop;
  stop.request_stop();
  std::optional<Woken> why;
  group_.spawn(wait(in(seconds(-1)), stop.get_token(), why));
  EXPECT_EQ(why, Woken::cancelled);
  event_.set();
  group_.spawn(wait(in(seconds(-1)), stop.get_token(), why));
  EXPECT_EQ(why, Woken::signalled);
}

TEST_F(EventTest, AStopTokenWakesAWaiter) {
  std::stop_source stop;
  std::optional<Woken> why;
  group_.spawn(wait(Deadline::never(), stop.get_token(), why));
  stop.request_stop();
  EXPECT_FALSE(why.has_value());
  run_for(seconds(0));
  EXPECT_EQ(why, Woken::cancelled);
}

TEST_F(EventTest, AWaiterIsWokenOnceByWhateverComesFirst) {
  std::stop_source stop;
  std::optional<Woken> why;
  group_.spawn(wait(in(seconds(1)), stop.get_token(), why));
  event_.set();
  stop.request_stop();
  run_for(seconds(5));
  EXPECT_EQ(why, Woken::signalled);
}

TEST_F(EventTest, AWaiterThatIsDestroyedIsForgotten) {
  std::stop_source stop;
  std::optional<Woken> why;
  {
    TaskGroup doomed(runtime_);
    doomed.spawn(wait(in(seconds(1)), stop.get_token(), why));
    stop.request_stop();  // Queued to run, then its waiter is gone.
  }
  event_.set();
  run_for(seconds(5));
  EXPECT_FALSE(why.has_value());
}

TEST_F(EventTest, SleepEndsAtItsMomentOrWhenItIsStopped) {
  std::stop_source stop;
  const BootTime begin = runtime_.now();
  std::optional<BootTime> woke;
  std::optional<Woken> stopped;
  const auto sleeper = [&]() -> Task<void> {
    EXPECT_EQ(co_await sleep_until(runtime_, begin + seconds(3)), Woken::timed_out);
    woke = runtime_.now();
    stopped = co_await sleep_until(runtime_, begin + seconds(100), stop.get_token());
  };
  group_.spawn(sleeper());
  run_for(seconds(10));
  ASSERT_TRUE(woke.has_value());
  EXPECT_GE(*woke, begin + seconds(3));
  EXPECT_LT(*woke, begin + seconds(4));
  stop.request_stop();
  run_for(seconds(0));
  EXPECT_EQ(stopped, Woken::cancelled);
}

}  // namespace
}  // namespace holdfast
