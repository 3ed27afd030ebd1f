#include "sql_plan.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace holdfast::bench {

namespace {

constexpr const char* kOptions = R"([OPTIONS]
  --only NAME        one workload: pairs, hand-off, idle
  --repetitions N    1 to 100 (default 5)
  --seconds S        of one side in one repetition (default 1; twice that in a contest)
  --waiters N        who wait while nothing happens (default 200; a multiple of 8)
  --quick            a smoke run; its figures mean little
  --json             one JSON object instead of the table
)";

[[noreturn]] void print(const char* program, std::FILE* to, int status) {
  std::fprintf(to, "usage: %s %s", program, kOptions);
  std::exit(status);
}

double number(const char* program, const char* text, double least, double most) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= least && value <= most)) print(program, stderr, 64);
  return value;
}

}  // namespace

SqlPlan parse_sql_plan(const char* program, int argc, char** argv) {
  SqlPlan plan;
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view option = words[i];
    if (option == "--help" || option == "-h") print(program, stdout, 0);
    if (option == "--json") {
      plan.json = true;
      continue;
    }
    if (option == "--quick") {
      plan.make_quick();
      continue;
    }
    if (++i == words.size()) print(program, stderr, 64);
    const char* value = words[i].data();
    if (option == "--only") {
      plan.only = value;
      if (plan.only != "pairs" && plan.only != "hand-off" && plan.only != "idle") {
        print(program, stderr, 64);
      }
    } else if (option == "--repetitions") {
      plan.repetitions = static_cast<int>(number(program, value, 1, 100));
    } else if (option == "--seconds") {
      plan.span = Seconds(number(program, value, 0.01, 3600));
      plan.contest_span = 2 * plan.span;
    } else if (option == "--waiters") {
      plan.waiters = std::max(8, static_cast<int>(number(program, value, 8, 1000)) / 8 * 8);
    } else {
      print(program, stderr, 64);
    }
  }
  return plan;
}

}  // namespace holdfast::bench
