#include "lab/sim/sim_runtime.h"

#include <algorithm>
#include <cmath>

namespace holdfast::internal {

bool SimWorld::run(const std::function<bool()>& finished, BootTime limit) {
  constexpr int kEndless = 100'000;
  BootTime moment = now_;
  for (int steps = 0; !finished(); ++steps) {
    if (!step(limit) || steps >= kEndless) return false;
    if (now_ == moment) continue;
    moment = now_;
    steps = 0;
  }
  return true;
}

bool SimWorld::step(BootTime limit) {
  BootTime soonest = BootTime::max();
  for (SimRuntime* node : nodes_) {
    if (node->changed_) {
      node->due_ = node->next_event();
      node->changed_ = false;
    }
    soonest = std::min(soonest, node->due_);
  }
  if (soonest > limit) return false;
  now_ = std::max(now_, soonest);
  // Several nodes can act at this moment: which one goes first is part of the schedule.
  std::size_t candidates = 0;
  SimRuntime* chosen = nullptr;
  for (SimRuntime* node : nodes_) {
    if (node->due_ <= now_ && random_.next() % ++candidates == 0) chosen = node;
  }
  chosen->run_one();
  return true;
}

SimRuntime::SimRuntime(SimWorld& world)
    : world_(world), rate_since_(world.now_), local_at_rate_(world.now_) {
  world_.nodes_.push_back(this);
}

SimRuntime::~SimRuntime() { std::erase(world_.nodes_, this); }

WallTime SimRuntime::wall() const {
  const Duration since_epoch =
      std::chrono::hours(24 * 365 * 50) + now().time_since_epoch() + wall_offset_;
  return WallTime(std::chrono::duration_cast<std::chrono::microseconds>(since_epoch));
}

void SimRuntime::set_clock_rate(double rate) {
  changed_ = true;
  local_at_rate_ = now();
  rate_since_ = world_.now_;
  rate_ = rate;
}

void SimRuntime::pause_for(Duration span) {
  changed_ = true;
  paused_until_ = std::max(paused_until_, world_.now_ + span);
}

BootTime SimRuntime::local(BootTime world) const {
  if (rate_ == 1.0) return local_at_rate_ + (world - rate_since_);
  const double passed = static_cast<double>((world - rate_since_).count()) * rate_;
  return local_at_rate_ + Duration(static_cast<Duration::rep>(passed));
}

BootTime SimRuntime::world_time(BootTime local) const {
  if (rate_ == 1.0) return rate_since_ + (local - local_at_rate_) + Duration(1);
  const double ahead = static_cast<double>((local - local_at_rate_).count()) / rate_;
  // Rounded up, so that the local clock has reached the moment when the timer runs.
  return rate_since_ + Duration(static_cast<Duration::rep>(std::ceil(ahead)) + 1);
}

BootTime SimRuntime::next_event() const {
  BootTime next = BootTime::max();
  if (!ready_.empty()) {
    next = world_.now_;
  } else if (!timers_.empty()) {
    next = timers_.earliest() >= BootTime::max() - std::chrono::hours(1)
               ? BootTime::max()
               : world_time(timers_.earliest());
  }
  return next == BootTime::max() ? next : std::max(next, paused_until_);
}

void SimRuntime::run_one() {
  changed_ = true;
  if (Runnable* work = ready_.pop()) {
    work->run();
  } else if (Timer* timer = timers_.pop_due(now())) {
    timer->on_time();
  }
}

}  // namespace holdfast::internal
