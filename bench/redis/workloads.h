// The workloads, each in a file of its own. Each adds its rows to the report.
#pragma once

#include "plan.h"
#include "report.h"
#include "server.h"

namespace holdfast::bench {

void measure_pairs(const Plan& plan, const Server& server, Report& report);
void measure_in_flight(const Plan& plan, const Server& server, Report& report);
void measure_hand_off(const Plan& plan, const Server& server, Report& report);
void measure_waiting(const Plan& plan, const Server& server, Report& report);
void measure_renewal(const Plan& plan, const Server& server, Report& report);
void measure_growth(const Plan& plan, const Server& server, Report& report);
void measure_peers(const Plan& plan, const Server& server, Report& report);
void measure_reference(const Plan& plan, const Server& server, Report& report);

}  // namespace holdfast::bench
