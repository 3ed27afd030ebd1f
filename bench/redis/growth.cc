// growth: does a hand-off take longer when more are waiting?
#include "crowd.h"
#include "workloads.h"

namespace holdfast::bench {

void measure_growth(const Plan& plan, const Server& server, Report& report) {
  measure_crowd({.most = plan.waiters, .repetitions = plan.repetitions, .span = 2 * plan.span},
                {"/proc/self/exe", "worker", plan.url}, report, [&] { server.flush(); });
}

}  // namespace holdfast::bench
