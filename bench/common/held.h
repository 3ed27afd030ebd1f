// held: what many held leases of one client cost while nothing else happens: memory, and the CPU of
// their renewal. Both as curves: does one cost more when there are more of them?
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "process.h"
#include "report.h"
#include "samples.h"

namespace holdfast::bench {

struct HeldPlan {
  int most = 100'000;  // beside a tenth and a hundredth of it
  Seconds ttl{30};
  Seconds span{11};  // how long they are watched; each is renewed once in a third of the ttl
  int cpu = kAnyCpu;
  std::optional<double> most_percent = {};  // the target: CPU of the client, of one core
};

struct HeldServer {
  std::string url;
  std::vector<pid_t> processes = {};    // of which the CPU is told as well
  std::function<void()> flush = [] {};  // forgets all locks
};

void measure_held(const HeldPlan& plan, const HeldServer& server, Report& report);

}  // namespace holdfast::bench
