// The workloads on a system whose clients keep sessions: ours beside a peer's and beside a raw client.
#pragma once

#include "plan.h"
#include "report.h"
#include "system.h"

namespace holdfast::bench {

// One of them on these servers. `where` ("3 servers") goes into what is printed, `suffix` into the
// rows' names.
struct Setting {
  const SessionPlan& plan;
  const System& system;
  const Servers& servers;
  Report& report;
  std::string where;
  std::string suffix;
};

void measure_pairs(const Setting& setting);
void measure_hand_off(const Setting& setting);
void measure_growth(const Setting& setting);
void measure_in_flight(const Setting& setting);
void measure_peers(const Setting& setting);
void measure_held_leases(const Setting& setting);

// All of them that the plan wants.
void measure_workloads(const Setting& setting);

}  // namespace holdfast::bench
