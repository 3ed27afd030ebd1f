// Arguments: the command line of a benchmark's program.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "samples.h"

namespace holdfast::bench {

// Arguments that every program takes.
struct BasicPlan {
  bool json = false;
  std::string only;  // the one workload to run; empty: all
  int repetitions = 3;
  Seconds span{0.5};  // of one side in one repetition

  bool wants(std::string_view workload) const { return only.empty() || only == workload; }
};
inline constexpr int kMaxRepetitions = 100;

class Arguments {
 public:
  // The usage is printed for --help, and where the arguments are wrong.
  explicit Arguments(std::string usage) : usage_(std::move(usage)) {}

  Arguments& flag(std::string name, std::function<void()> set);
  Arguments& number(std::string name, double least, double most, std::function<void(double)> set);
  // False: there is no such word.
  Arguments& word(std::string name, std::function<bool(const std::string&)> set);
  // --json, --repetitions, --seconds, and --only if there is more than one workload. --quick comes
  // from the program. `plan` must outlive parse().
  Arguments& basic(BasicPlan& plan, std::vector<std::string> workloads = {});

  // Ends the process if they are wrong, or ask for the usage.
  void parse(int argc, char** argv) const;
  [[noreturn]] void refuse() const { print_usage(stderr, 64); }

 private:
  struct Option {
    std::string name;
    bool has_value;
    std::function<bool(const std::string&)> set;
  };
  [[noreturn]] void print_usage(std::FILE* to, int status) const;

  std::string usage_;
  std::vector<Option> options_;
};

}  // namespace holdfast::bench
