// The workloads that every group has, whatever it locks with: so that their tables can be read alike.
#pragma once

#include <vector>

#include "league.h"

namespace holdfast::bench {

struct StandardPlan {
  bool two_cpus = true;
  // What ours has to reach.
  std::vector<Claim> same_cpu = {};
  std::vector<Claim> other_cpu = {};
  std::vector<Claim> threads_16 = {};
  std::vector<Claim> threads_64 = {};
  std::vector<Claim> flight_16 = {};
  std::vector<Claim> flight_256 = {};
  std::vector<Claim> hold_gap = {};
  std::vector<Claim> hold_owners = {};
  std::vector<Claim> hold_commands = {};
  std::vector<Claim> hot_owners = {};
  std::vector<Claim> mix = {};
};

void play_standard(League& league, const StandardPlan& plan);

}  // namespace holdfast::bench
