// idle: what many waiters for one lock cost while nothing happens: CPU, and what they ask the server. Their
// allowance is one question each in a quarter of the ttl.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "report.h"
#include "samples.h"

namespace holdfast::bench {

struct IdlePlan {
  int waiters = 200;
  Seconds ttl{30};
  Seconds span{11};
  std::vector<pid_t> servers = {};
  // Requests that the server has had so far, if it counts them, and how late it may count.
  std::function<double()> asked = {};
  std::string asked_what = {};
  Seconds delay{0};
};

// `command` starts a worker, URL included.
void measure_idle(const IdlePlan& plan, const std::vector<std::string>& command, Report& report);

}  // namespace holdfast::bench
