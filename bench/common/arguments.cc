#include "arguments.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace holdfast::bench {

Arguments& Arguments::flag(std::string name, std::function<void()> set) {
  options_.push_back({std::move(name), false, [set = std::move(set)](const std::string&) {
                        set();
                        return true;
                      }});
  return *this;
}

Arguments& Arguments::number(std::string name, double least, double most,
                             std::function<void(double)> set) {
  return word(std::move(name), [=, set = std::move(set)](const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value >= least && value <= most)) return false;
    set(value);
    return true;
  });
}

Arguments& Arguments::word(std::string name, std::function<bool(const std::string&)> set) {
  options_.push_back({std::move(name), true, std::move(set)});
  return *this;
}

Arguments& Arguments::basic(BasicPlan& plan, std::vector<std::string> workloads) {
  flag("--json", [&plan] { plan.json = true; });
  number("--repetitions", 1, kMaxRepetitions,
         [&plan](double value) { plan.repetitions = static_cast<int>(value); });
  number("--seconds", 0.01, 3600, [&plan](double value) { plan.span = Seconds(value); });
  if (workloads.empty()) return *this;
  return word("--only", [&plan, workloads = std::move(workloads)](const std::string& name) {
    plan.only = name;
    return std::ranges::find(workloads, name) != workloads.end();
  });
}

void Arguments::parse(int argc, char** argv) const {
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--help" || words[i] == "-h") print_usage(stdout, 0);
    const auto option = std::ranges::find(options_, words[i], &Option::name);
    if (option == options_.end()) refuse();
    if (option->has_value && i + 1 == words.size()) refuse();
    if (!option->set(option->has_value ? words[++i] : "")) refuse();
  }
}

void Arguments::print_usage(std::FILE* to, int status) const {
  std::fputs(usage_.c_str(), to);
  std::exit(status);
}

}  // namespace holdfast::bench
