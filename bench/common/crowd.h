// crowd: does a hand-off take longer when more are waiting? Eight processes, each with more and more
// threads that want one lock and hold it for a millisecond.
#pragma once

#include <string>
#include <vector>

#include "bout.h"
#include "report.h"

namespace holdfast::bench {

struct CrowdPlan {
  std::string suffix = {};  // of the curve's name
  std::string where = {};   // for people: "3 servers"
  std::vector<int> waiters{8, 64, 512, 1000};
  int most = 1000;  // waiters; what is above is left out
  int repetitions = 3;
  Seconds span{1};
  std::vector<double> growth_at_most{1.3};  // none where nobody is told
};

// The results for one number of waiters, of all repetitions.
struct CrowdPoint {
  int waiters;
  std::vector<double> p50_us = {}, p99_us = {}, p999_us = {}, per_s = {}, counted_each = {};
  std::string text() const;
};

// Adds the curve. `command` starts a worker, URL included; `flush` forgets all locks.
std::vector<CrowdPoint> measure_crowd(
    const CrowdPlan& plan, const std::vector<std::string>& command, Report& report,
    const std::function<void()>& flush = [] {}, const CountDuring& count = {});

}  // namespace holdfast::bench
