#include "plan.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace holdfast::bench {

namespace {

constexpr const char* kOptions = R"([OPTIONS]
  --only NAME        one workload: pairs, hand-off, crowd, in-flight, peers
  --nodes N          on 1 server or on 3 only (default: first 1, then 3)
  --repetitions N    1 to 100 (default 5)
  --seconds S        of one side in one repetition (default 2)
  --waiters N        in the crowd (default 1000; a multiple of 8)
  --quick            a smoke run; its figures mean little
  --json             one JSON object instead of the table
)";

class Parser {
 public:
  Parser(const char* program, int argc, char** argv)
      : program_(program), arguments_(argv + 1, argv + argc) {}

  SessionPlan parse() {
    for (; at_ < arguments_.size(); ++at_) {
      const std::string_view option = arguments_[at_];
      if (option == "--help" || option == "-h") print(stdout, 0);
      if (option == "--json") {
        plan_.json = true;
      } else if (option == "--quick") {
        plan_.make_quick();
      } else {
        set(option);
      }
    }
    return plan_;
  }

 private:
  void set(std::string_view option) {
    if (option == "--only") {
      plan_.only = next();
      bool known = false;
      for (const char* name : {"pairs", "hand-off", "crowd", "in-flight", "peers"}) {
        known = known || plan_.only == name;
      }
      if (!known) print(stderr, 64);
    } else if (option == "--nodes") {
      plan_.nodes = {static_cast<int>(number(1, 3))};
      if (plan_.nodes.front() == 2) print(stderr, 64);
    } else if (option == "--repetitions") {
      plan_.repetitions = static_cast<int>(number(1, 100));
    } else if (option == "--seconds") {
      plan_.span = Seconds(number(0.01, 3600));
    } else if (option == "--waiters") {
      plan_.waiters = static_cast<int>(number(16, 8000)) / 8 * 8;
    } else {
      print(stderr, 64);
    }
  }

  const char* next() {
    if (++at_ >= arguments_.size()) print(stderr, 64);
    return arguments_[at_];
  }

  double number(double least, double most) {
    const char* text = next();
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= least && value <= most)) print(stderr, 64);
    return value;
  }

  [[noreturn]] void print(std::FILE* to, int status) const {
    std::fprintf(to, "usage: %s %s", program_, kOptions);
    std::exit(status);
  }

  const char* program_;
  std::vector<const char*> arguments_;
  std::size_t at_ = 0;
  SessionPlan plan_;
};

}  // namespace

SessionPlan parse_plan(const char* program, int argc, char** argv) {
  return Parser(program, argc, argv).parse();
}

}  // namespace holdfast::bench
