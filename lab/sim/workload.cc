#include "lab/sim/workload.h"

#include <algorithm>

namespace holdfast::lab::sim {

const Expectation* Workload::expectation_of(Finding finding) const {
  const auto found =
      std::find_if(expectations_.begin(), expectations_.end(),
                   [&](const Expectation& expected) { return expected.finding == finding; });
  return found == expectations_.end() ? nullptr : &*found;
}

bool Workload::expects(Finding finding, const Outcome& outcome) const {
  const Expectation* expected = expectation_of(finding);
  if (!expected) return false;
  return std::any_of(expected->excuses.begin(), expected->excuses.end(),
                     [&](const FaultSet& faults) { return outcome.faults.includes(faults); });
}

const Finding* Workload::violation_in(const Outcome& outcome) const {
  static constexpr auto kAll = [] {
    std::array<Finding, kFindings> all{};
    for (int i = 0; i < kFindings; ++i) all[static_cast<std::size_t>(i)] = static_cast<Finding>(i);
    return all;
  }();
  const auto found = std::find_if(kAll.begin(), kAll.end(), [&](Finding finding) {
    return outcome.has(finding) && !expects(finding, outcome);
  });
  return found == kAll.end() ? nullptr : &*found;
}

const Workload* find_workload(const std::string& name) {
  for (const auto& workload : workloads()) {
    if (workload->name() == name) return workload.get();
  }
  return nullptr;
}

}  // namespace holdfast::lab::sim
