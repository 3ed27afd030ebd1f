// The workloads that every system has, whatever it locks with, so that their tables can be compared.
#pragma once

#include <string>
#include <vector>

#include "league.h"

namespace holdfast::bench {

struct StandardPlan {
  std::string suffix = {};  // of the comparisons' names
  std::string where = {};   // for people: "3 servers"
  bool two_cpus = true;
  // Targets of ours.
  std::vector<Target> same_cpu = {};
  std::vector<Target> other_cpu = {};
  std::vector<Target> threads_16 = {};
  std::vector<Target> threads_64 = {};
  std::vector<Target> flight_16 = {};
  std::vector<Target> flight_256 = {};
  std::vector<Target> hold_gap = {};
  std::vector<Target> hold_owners = {};
  std::vector<Target> hold_commands = {};
  std::vector<Target> hot_owners = {};
  std::vector<Target> mix = {};
};

void play_standard(League& league, const StandardPlan& plan);

}  // namespace holdfast::bench
