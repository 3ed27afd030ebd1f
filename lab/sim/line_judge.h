// LineJudge: whether a lock server serves those who wait in the order in which they came. A waiter that
// has not asked for a while is not waited for.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "lab/sim/lock_store.h"

namespace holdfast::lab::sim {

class LineJudge final : public LineWatcher {
 public:
  // A waiter asks again in less than `silence`.
  LineJudge(const internal::SimWorld& world, Duration silence, std::function<void()> overtaken)
      : world_(world), silence_(silence), overtaken_(std::move(overtaken)) {}

  void on_waiting(const ClaimId& claim) override {
    const auto found = find(claim);
    if (found == line_.end()) {
      line_.push_back({claim, world_.now()});
    } else {
      found->asked = world_.now();
    }
  }
  void on_served(const ClaimId& claim) override {
    const auto mine = find(claim);
    const bool overtook = std::any_of(line_.begin(), mine, [&](const Waiter& before) {
      return world_.now() - before.asked < silence_;
    });
    if (overtook) overtaken_();
    on_left(claim);
  }
  void on_left(const ClaimId& claim) override {
    std::erase_if(line_, [&](const Waiter& waiter) { return waiter.claim == claim; });
  }
  void on_line_lost() override { line_.clear(); }

 private:
  struct Waiter {
    ClaimId claim;
    BootTime asked;
  };
  std::vector<Waiter>::iterator find(const ClaimId& claim) {
    return std::find_if(line_.begin(), line_.end(),
                        [&](const Waiter& waiter) { return waiter.claim == claim; });
  }

  const internal::SimWorld& world_;
  Duration silence_;
  std::function<void()> overtaken_;
  std::vector<Waiter> line_;
};

}  // namespace holdfast::lab::sim
