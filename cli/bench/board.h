// The board of a benchmark: memory shared by its processes, where workers count what they do and
// stamp each release, so that the next holder, in whatever process, can tell how long the hand-off
// took. All stamps are on CLOCK_BOOTTIME, which all processes of a machine share.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "histogram.h"
#include "holdfast/result.h"

namespace holdfast::cli {

// Written by one thread.
struct alignas(64) WorkerStats {
  std::atomic<std::uint64_t> pairs{0};
  std::atomic<std::uint64_t> owner_changes{0};
  std::atomic<std::uint64_t> timeouts{0};
  std::atomic<std::uint64_t> losses{0};
  Histogram acquire;
  Histogram handoff;
};

// Written by whoever holds the name (exclusive mode).
struct alignas(64) NameStamp {
  std::atomic<std::int64_t> released_at{0};
  std::atomic<std::uint32_t> owner{0};  // 0: none yet
};

struct alignas(64) BoardState {
  std::atomic<int> ready{0};           // processes that have opened their client
  std::atomic<std::int64_t> begin{0};  // set by the parent when all are ready
  std::atomic<std::int64_t> end{0};
  std::atomic<bool> stop{false};
  std::atomic<bool> failed{false};
  Code code{};
  char message[512]{};
};

class Board {
 public:
  // Shared with children that are forked later. Throws LockError if there is no memory.
  Board(std::size_t workers, std::size_t names);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  BoardState& state() { return *state_; }
  std::span<WorkerStats> workers() { return workers_; }
  std::span<NameStamp> names() { return names_; }

  bool over(BootTime now) const {
    return state_->stop || now.time_since_epoch().count() >= state_->end;
  }
  // Keeps the first failure of all workers and stops them all.
  void fail(const Failure& failure);

 private:
  void* memory_;
  std::size_t size_;
  BoardState* state_;
  std::span<WorkerStats> workers_;
  std::span<NameStamp> names_;
};

}  // namespace holdfast::cli
