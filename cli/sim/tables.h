// The output of `holdfast sim`: tables for people, or JSON.
#pragma once

#include <vector>

#include "lab/sim/runner.h"
#include "session.h"

namespace holdfast::cli {

struct RunHeader {
  std::uint64_t seed = 1;
  unsigned threads = 1;
  bool partial = false;  // interrupted
  bool marks = false;    // show them
};

void print_results(const Session& session, const std::vector<lab::sim::RunResult>& results,
                   const RunHeader& header);
void print_kill_table(const Session& session, const std::vector<lab::sim::RunResult>& results,
                      std::uint64_t first_seed, bool partial);
void print_replay(const Session& session, const lab::sim::Workload& workload,
                  const lab::sim::Outcome& outcome);
void print_workloads(const Session& session);

}  // namespace holdfast::cli
