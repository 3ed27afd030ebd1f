// Comparison: one workload, done by several clients in turns; and Curve: one figure of several clients
// as something grows. What a report holds of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "target.h"

namespace holdfast::bench {

enum class Role {
  ours,
  raw,   // the least that a program without any library could do: the limit
  peer,  // another library
};
const char* to_string(Role role);

// One client in all repetitions; the values at the same place were taken side by side.
struct Contestant {
  std::string name;
  Role role = Role::peer;
  std::vector<double> values;
  // Further observations, also one value per repetition: "p99_us", "commands".
  std::vector<std::pair<std::string, std::vector<double>>> figures = {};
  std::string note = {};  // why it has no values, or what is special about it
};

struct Comparison {
  std::string name;  // in JSON
  std::string what;  // for people
  std::string unit;  // of the values: "pairs/s", "us"
  Target::Side better = Target::Side::at_least;
  std::vector<Contestant> contestants;
  std::vector<Target> targets;
  std::string detail = {};  // where it ran
};

// Ours divided by the other's, repetition by repetition. Empty if one of them is not there.
std::vector<double> ratios_to(const Comparison& comparison, const std::string& of);

struct Curve {
  struct Point {
    double x;
    std::vector<double> values;
  };
  struct Series {
    std::string name;
    Role role = Role::ours;
    std::vector<Point> points;
  };
  std::string name;
  std::string what;
  std::string x_what;  // "waiters"
  std::string unit;
  std::vector<Series> series;
  // For ours: the last point divided by the first, at most.
  std::vector<double> growth_at_most = {};  // none or one
  std::string detail = {};
};

// The last point of a series divided by its first, repetition by repetition.
std::vector<double> growth(const Curve::Series& series);

}  // namespace holdfast::bench
