#include "lab/sim/stage.h"

#include <cstdio>

namespace holdfast::lab::sim {

void add_fault_marks(Marks& marks, const FaultSet& kinds, const FaultCounts& counts) {
  for (int i = 0; i < kFaultKinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    if (kinds.has(kind)) marks.push_back({to_text(kind), counts[static_cast<std::size_t>(i)]});
  }
}

void Stage::find(Finding finding, const std::string& what) {
  if (keeps_history()) note("VIOLATION (" + std::string(to_text(finding)) + "): " + what);
  outcome_.find(finding, what);
}

void Stage::note(const std::string& what) {
  if (!keeps_history()) return;
  char time[32];
  const double now = std::chrono::duration<double>(world.now().time_since_epoch()).count() - 1000;
  std::snprintf(time, sizeof time, "%9.4f s  ", now);
  outcome_.history.push_back(time + what);
}

bool Stage::take(FaultKind kind) {
  if (!decisions_.take(kind)) return false;
  ++counts_[static_cast<std::size_t>(kind)];
  return true;
}

void Stage::see_overlap(bool overlapping) {
  if (overlapping && !overlapping_) find(Finding::overlap, "two clients believe to hold the lock");
  overlapping_ = overlapping;
}

Outcome Stage::finish() {
  outcome_.faults = decisions_.happened();
  outcome_.decisions = decisions_.made();
  return std::move(outcome_);
}

}  // namespace holdfast::lab::sim
