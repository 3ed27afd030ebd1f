// Plan: how much is measured.
#pragma once

#include <string>
#include <vector>

#include "samples.h"

namespace holdfast::bench {

struct SessionPlan {
  bool json = false;
  std::string only;              // the one workload to run; empty: all
  std::vector<int> nodes{1, 3};  // on how many servers, one after the other
  int repetitions = 5;
  Seconds span{2};     // of one side in one repetition
  Seconds warm_up{4};  // before the first: JVMs compile what they run often
  int waiters = 1000;  // in the crowd

  // A smoke run: everything happens once and shortly. Its figures mean little.
  void make_quick() {
    repetitions = 1;
    span = Seconds(0.3);
    warm_up = Seconds(0.3);
    waiters = 64;
  }
};

// Prints the usage and ends the process if the arguments are wrong, or ask for it.
SessionPlan parse_plan(const char* program, int argc, char** argv);

}  // namespace holdfast::bench
