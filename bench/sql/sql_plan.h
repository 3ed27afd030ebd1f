// SqlPlan: how much is measured, and where it runs.
#pragma once

#include <string>

#include "samples.h"

namespace holdfast::bench {

struct SqlPlan {
  bool json = false;
  std::string only;  // the one workload to run; empty: all
  int repetitions = 5;
  Seconds span{1};          // of one side in one repetition
  Seconds contest_span{2};  // of one contest for one name
  int waiters = 200;        // who wait while nothing happens
  Seconds idle_ttl{8};      // the ttl of their locks: the heartbeat is a quarter of it
  Seconds idle_span{12};    // how long they are watched

  // The server has a CPU to itself, except where a row says that the client shares it.
  int server_cpu = 0;
  int client_cpu = 0;

  // A smoke run: everything happens once and shortly. Its figures mean little.
  void make_quick() {
    repetitions = 1;
    span = Seconds(0.2);
    contest_span = Seconds(0.5);
    waiters = 16;
    idle_ttl = Seconds(4);
    idle_span = Seconds(3);
  }
};

// Prints the usage and ends the process if the arguments are wrong, or ask for it.
SqlPlan parse_sql_plan(const char* program, int argc, char** argv);

}  // namespace holdfast::bench
