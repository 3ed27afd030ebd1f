// RunFile: what `bench/run --json` writes: where and when it ran, and the report of each group
// (../common/report_json.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace holdfast::bench {

using Json = nlohmann::ordered_json;

// A JSON file. Throws if it cannot be read, or is none.
Json read_json(const std::string& path);

// The reports in `files` ("…/redis.json" is the group "redis"; one that is not there was not
// finished, and is left out) under one head that says what machine this is.
Json gather(const std::string& command, const std::vector<std::string>& files);

// One target of a run, wherever it comes from: a row, a comparison or a curve.
struct Verdict {
  std::string what;
  double value;
  bool at_least;
  double limit;
  bool met;
  std::string unit;    // empty for a ratio
  std::string detail;  // the numbers behind it

  // Above 1: met, and by how much.
  double reach() const { return at_least ? value / limit : limit / value; }
};
std::vector<Verdict> verdicts(const Json& group);

// "12.3 k", "0.64": as many digits as a reader wants.
std::string short_figure(double value);

}  // namespace holdfast::bench
