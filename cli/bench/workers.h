// The workers of a benchmark: threads that block, or claims in flight on one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "board.h"
#include "holdfast/client.h"

namespace holdfast::cli {

struct BenchPlan {
  std::size_t processes = 1;
  std::size_t workers = 1;    // per process; blocking threads
  std::size_t in_flight = 0;  // per process; > 0: asynchronous claims instead of threads
  std::size_t names = 1;
  Mode mode = Mode::exclusive;
  std::uint32_t permits = 2;
  Duration run_for{};
  Duration hold{};
  Duration ttl{};

  // How many claim locks at the same time, in one process.
  std::size_t claimants() const { return in_flight > 0 ? in_flight : workers; }
  // How many WorkerStats one process writes.
  std::size_t stats_per_process() const { return in_flight > 0 ? 1 : workers; }
};

// The work of process number `process` until the board says that it is over. Failures go to the
// board.
void run_workers(Client& client, const BenchPlan& plan, Board& board, std::size_t process);

}  // namespace holdfast::cli
