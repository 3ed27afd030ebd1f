// SqlPlan: how much is measured, and where it runs.
#pragma once

#include "arguments.h"

namespace holdfast::bench {

struct SqlPlan : BasicPlan {
  int waiters = 200;      // who wait while nothing happens
  Seconds idle_ttl{8};    // the ttl of their locks: the heartbeat is a quarter of it
  Seconds idle_span{4};   // how long they are watched
  int crowd = 1000;       // who want one lock, at most
  int leases = 100'000;   // held at the same time
  Seconds held_span{11};  // how long they are watched

  Seconds contest_span() const { return 2 * span; }  // of one contest for one name

  // The server has a CPU to itself, except where a row says that the client shares it.
  int server_cpu = 0;
  int client_cpu = 0;

  // A smoke run: everything happens once and shortly. Its figures mean little.
  void make_quick() {
    repetitions = 1;
    span = Seconds(0.2);
    waiters = 16;
    crowd = 64;
    leases = 1000;
    held_span = Seconds(1);
    idle_ttl = Seconds(4);
    idle_span = Seconds(3);
  }
};

// Prints the usage and ends the process if the arguments are wrong, or ask for it.
SqlPlan parse_sql_plan(const char* program, int argc, char** argv);

}  // namespace holdfast::bench
