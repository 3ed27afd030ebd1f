#include "sql_plan.h"

namespace holdfast::bench {

namespace {

constexpr const char* kOptions = R"([OPTIONS]
  --only NAME        one workload: pairs, hand-off, idle, peers, crowd, held
  --repetitions N    1 to 100 (default 3)
  --seconds S        of one side in one repetition (default 0.5; twice that in a contest)
  --waiters N        who wait while nothing happens (default 200; a multiple of 8)
  --crowd N          who want one lock at the same time, at most (default 1000; a multiple of 8)
  --leases N         held at the same time (default 100000)
  --quick            a smoke run; its figures mean little
  --json             one JSON object instead of the table
)";

}  // namespace

SqlPlan parse_sql_plan(const char* program, int argc, char** argv) {
  SqlPlan plan;
  const auto of_eight = [](int& to) {
    return [&to](double value) { to = static_cast<int>(value) / 8 * 8; };
  };
  Arguments(std::string("usage: ") + program + " " + kOptions)
      .basic(plan, {"pairs", "hand-off", "idle", "peers", "crowd", "held"})
      .flag("--quick", [&] { plan.make_quick(); })
      .number("--waiters", 8, 1000, of_eight(plan.waiters))
      .number("--crowd", 16, 8000, of_eight(plan.crowd))
      .number("--leases", 100, 1e6, [&](double value) { plan.leases = static_cast<int>(value); })
      .parse(argc, argv);
  return plan;
}

}  // namespace holdfast::bench
