// Disturbance: how much of the machine others used while we measured. A ratio of two numbers that
// were taken one after the other says little if somebody compiled during one of them.
#pragma once

#include <sys/types.h>

#include <vector>

#include "samples.h"

namespace holdfast::bench {

class Disturbance {
 public:
  // REQUIRES: this process has no other children than the servers, now and when it is asked.
  explicit Disturbance(std::vector<pid_t> servers);

  struct Shares {
    double others;  // CPU time of processes that are not ours, in cores
    double stolen;  // what the host took away from this virtual machine, in cores
  };
  Shares so_far() const;

 private:
  struct Reading {
    std::chrono::steady_clock::time_point at;
    double all_s, stolen_s, ours_s;
  };
  Reading read() const;

  std::vector<pid_t> servers_;
  Reading begin_;
};

}  // namespace holdfast::bench
