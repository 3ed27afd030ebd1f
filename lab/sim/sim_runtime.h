// SimWorld and SimRuntime: a virtual machine room on one thread. A world has a clock that jumps
// from event to event; each node in it has a Runtime with a clock of its own (rate, wall offset),
// can be paused and goes on where it was. The order of what is ready at the same moment is drawn
// from the world's seed, so a seed is a schedule.
#pragma once

#include <functional>
#include <vector>

#include "base/random.h"
#include "base/run_queue.h"
#include "base/timer_heap.h"
#include "holdfast/runtime.h"

namespace holdfast::internal {

class SimRuntime;

class SimWorld {
 public:
  explicit SimWorld(std::uint64_t seed) : random_(seed) {}

  BootTime now() const { return now_; }
  Random& random() { return random_; }

  // Runs until `finished` says so, or nothing is left to do, or the world's clock passes `limit`.
  // True if `finished` did. Also ends, with false, when so much has happened without any time
  // passing that it will go on for ever.
  bool run(const std::function<bool()>& finished, BootTime limit);

 private:
  friend class SimRuntime;
  // Runs one thing. False if there is nothing before `limit`.
  bool step(BootTime limit);

  Random random_;
  BootTime now_{std::chrono::seconds(1000)};
  std::vector<SimRuntime*> nodes_;
};

class SimRuntime final : public Runtime {
 public:
  explicit SimRuntime(SimWorld& world);
  ~SimRuntime() override;

  // Runtime
  BootTime now() const override { return local(world_.now_); }
  WallTime wall() const override;
  std::uint64_t random() override { return world_.random_.next(); }
  void defer(Runnable& work) override { changing(ready_).push(work); }
  void drop(Runnable& work) override { changing(ready_).remove(work); }
  void post(Runnable& work) override { changing(ready_).push(work); }
  void withdraw(Runnable& work) override { changing(ready_).remove(work); }
  void arm(Timer& timer, BootTime at) override { changing(timers_).arm(timer, at); }
  void disarm(Timer& timer) override { changing(timers_).disarm(timer); }
  void call_user(std::function<void()> callback) override { callback(); }

  // Faults.
  void set_clock_rate(double rate);  // 1.01: this node's boot clock gains one per cent
  void jump_wall_clock(Duration by) { wall_offset_ += by; }
  void pause_for(Duration span);  // by the world's clock
  bool paused() const { return world_.now_ < paused_until_; }
  // True at the moment at which a pause ends, when everything that it delayed runs at once.
  bool just_resumed() const { return world_.now_ == paused_until_; }

 private:
  friend class SimWorld;
  BootTime local(BootTime world) const;
  BootTime world_time(BootTime local) const;
  // When this node has something to do next, by the world's clock.
  BootTime next_event() const;
  void run_one();
  template <class T>
  T& changing(T& part) {
    changed_ = true;
    return part;
  }

  SimWorld& world_;
  RunQueue ready_;
  TimerHeap timers_;
  double rate_ = 1.0;
  BootTime rate_since_;     // by the world's clock
  BootTime local_at_rate_;  // this node's clock at rate_since_
  Duration wall_offset_{};
  BootTime paused_until_ = BootTime::min();
  // next_event(), as the world last looked: most nodes have nothing to do in most steps. (Of a node
  // that is ready it is a moment in the past, which comes to the same.)
  BootTime due_;
  bool changed_ = true;
};

}  // namespace holdfast::internal
