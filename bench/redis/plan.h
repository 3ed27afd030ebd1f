// Plan: how much is measured, and where it runs.
#pragma once

#include <string>

#include "arguments.h"

namespace holdfast::bench {

struct Plan : BasicPlan {
  std::string url;  // what Holdfast opens; filled in with our own server's

  Seconds contest_span() const { return 2 * span; }  // of one contest for one name
  int waiters = 1000;                                // in the crowd, and at the end of the growth
  Seconds idle_span{5};         // how long the crowd is watched while nothing happens
  int leases = 100000;          // held at the same time
  Seconds lease_ttl{30};        // their ttl, and
  Seconds lease_span{11};       // how long they are watched
  int reference_sets = 200000;  // of redis-benchmark

  // The server has a CPU to itself unless a workload says otherwise. Equal on a machine with one.
  int server_cpu = 0;
  int client_cpu = 0;

  Seconds warm_up() const { return span / 5; }
  bool two_cpus() const { return server_cpu != client_cpu; }

  // A smoke run: everything happens once and shortly. Its figures mean little.
  void make_quick() {
    repetitions = 1;
    span = Seconds(0.1);
    waiters = 64;
    idle_span = Seconds(0.3);
    leases = 2000;
    lease_ttl = Seconds(1.5);
    lease_span = Seconds(1);
    reference_sets = 2000;
  }
};

}  // namespace holdfast::bench
