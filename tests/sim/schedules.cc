// Runs seeded schedules of one workload (see lab/sim/workload.h) over the code that it is linked
// with, which may be a mutant. `holdfast sim` does the same over the code as it is.
//   schedules WORKLOAD COUNT [FIRST_SEED]
// Exit 0: no violation; 1: one; 2: something that should have happened never did; 64: bad usage.
#include <cstdio>
#include <cstdlib>

#include "lab/sim/mutants.h"
#include "lab/sim/report.h"

int main(int argc, char** argv) {
  using namespace holdfast::lab::sim;
  const Workload* workload = argc > 2 ? find_workload(argv[1]) : nullptr;
  if (!workload && argc > 2) workload = find_mutant(argv[1]);
  if (!workload) {
    std::fputs("usage: schedules WORKLOAD COUNT [FIRST_SEED]\n", stderr);
    return 64;
  }
  RunLimits limits;
  limits.schedules = std::strtoull(argv[2], nullptr, 10);
  if (argc > 3) limits.first_seed = std::strtoull(argv[3], nullptr, 10);
  const RunResult result = run_workload(*workload, limits);
  std::fputs((result_text(result) + violation_text(result)).c_str(), stdout);
  if (result.violation) return 1;
  std::printf("%.0f schedules per minute of one processor\n", result.schedules_per_minute());
  std::fputs(marks_text(result.marks).c_str(), stdout);
  return result.missing.empty() ? 0 : 2;
}
