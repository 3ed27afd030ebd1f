// Plan: how much is measured.
#pragma once

#include <vector>

#include "arguments.h"

namespace holdfast::bench {

struct SessionPlan : BasicPlan {
  std::vector<int> nodes{1, 3};  // on how many servers, one after the other
  Seconds warm_up{2};            // before the first: JVMs compile what they run often
  int waiters = 1000;            // in the crowd
  int leases = 100'000;          // held at the same time
  Seconds held_span{11};

  // A smoke run: everything happens once and shortly. Its figures mean little.
  void make_quick() {
    repetitions = 1;
    span = Seconds(0.3);
    warm_up = Seconds(0.3);
    waiters = 64;
    leases = 1000;
    held_span = Seconds(1);
  }
};

// Prints the usage and ends the process if the arguments are wrong, or ask for it.
SessionPlan parse_plan(const char* program, int argc, char** argv);

}  // namespace holdfast::bench
