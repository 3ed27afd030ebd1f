#include "plan.h"

namespace holdfast::bench {

namespace {

constexpr const char* kOptions = R"([OPTIONS]
  --only NAME        one workload: pairs, hand-off, crowd, in-flight, peers, held
  --nodes N          on 1 server or on 3 only (default: first 1, then 3)
  --repetitions N    1 to 100 (default 3)
  --seconds S        of one side in one repetition (default 0.5)
  --waiters N        in the crowd (default 1000; a multiple of 8)
  --leases N         held at the same time (default 100000)
  --quick            a smoke run; its figures mean little
  --json             one JSON object instead of the table
)";

}  // namespace

SessionPlan parse_plan(const char* program, int argc, char** argv) {
  SessionPlan plan;
  Arguments(std::string("usage: ") + program + " " + kOptions)
      .basic(plan, {"pairs", "hand-off", "crowd", "in-flight", "peers", "held"})
      .flag("--quick", [&] { plan.make_quick(); })
      .word("--nodes",
            [&](const std::string& text) {
              plan.nodes = {text == "3" ? 3 : 1};
              return text == "1" || text == "3";
            })
      .number("--waiters", 16, 8000, [&](double n) { plan.waiters = static_cast<int>(n) / 8 * 8; })
      .number("--leases", 100, 1e6, [&](double value) { plan.leases = static_cast<int>(value); })
      .parse(argc, argv);
  return plan;
}

}  // namespace holdfast::bench
