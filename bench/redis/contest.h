// Contest: several processes contend for one name; whoever gets it writes on a board in shared
// memory how long the hand-off took.
//
//   release called ──► (server) ──► acquire returns in the next process
//   |◄──────────────── gap ───────────────────────►|     stamps on CLOCK_MONOTONIC
//
// Thread safety: none; for the main process.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "contender.h"
#include "plan.h"
#include "process.h"

namespace holdfast::bench {

// All but the flags is written by the holder of the lock alone, so needs no other order.
struct Board {
  std::atomic<int> ready{0};              // processes whose contenders exist
  std::atomic<bool> recording{false};     // set by the main process
  std::atomic<bool> frozen{false};        // set by the main process: who gets it now keeps it
  std::atomic<std::uint64_t> waiting{0};  // contenders inside take()

  std::atomic<std::int64_t> released_at_ns{0};
  std::atomic<int> owner{-1};
  std::atomic<std::uint64_t> changes{0};  // of owner, since the beginning
  std::atomic<std::size_t> gap_count{0};
  std::array<float, 1 << 20> gaps_us{};
};

struct ContestPlan {
  int processes = 8;
  int threads = 1;  // in each process
  Seconds hold{0};
  Seconds pause{0};
  std::vector<int> cpus;  // where they run
};

class Contest {
 public:
  // The contenders begin at once; returns when all processes are there.
  Contest(const ContestPlan& plan, const MakeContenders& make);
  // Kills what still runs.
  ~Contest();
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;

  Board& board() const { return *board_; }
  const std::vector<pid_t>& processes() const { return processes_; }
  double cpu_seconds() const;  // of all of them

  struct Outcome {
    double changes_per_s;
    double p50_us, p99_us, p999_us;
  };
  // Lets them contend for `warm_up`, then watches for `span`.
  Outcome watch(Seconds warm_up, Seconds span) const;

  // All contenders end properly. Throws if one of them failed.
  void stop();

 private:
  void be_process(int number, const MakeContenders& make);
  void contend(Contender& contender, int number, const std::stop_token& over) const;
  void note_owner(int number, std::int64_t asked_at_ns) const;
  void close_pipe(int end);
  void check_alive() const;

  ContestPlan plan_;
  Shared<Board> board_;
  // Nobody writes to it: it ends when the main process closes it or ends.
  int over_pipe_[2] = {-1, -1};
  std::vector<pid_t> processes_;
};

}  // namespace holdfast::bench
