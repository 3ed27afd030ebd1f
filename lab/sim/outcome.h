// Outcome: what was found in one schedule. The findings are never merged: a lock on which two
// clients believed to be alone is one thing, data that was harmed is another, and whether a fence
// would have prevented it a third.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/sim/decisions.h"

namespace holdfast::lab::sim {

enum class Finding {
  overlap,           // two clients, awake, believed to hold the lock
  harm_bare,         // an update was lost; nothing checks tokens
  harm_write_fence,  // the same, though writes are checked
  harm_full_fence,   // the same, though reads and writes are checked
  bad_token,         // granted twice, or lower than one before
  broken_lease,      // a lease broke its own promise: came back, or told its loss too late
  unfair,            // a newcomer overtook who was waiting
  stranded,          // nobody holds the lock, and nobody gets it
  no_progress,       // when all was well again, a client did not get the lock
};
inline constexpr int kFindings = static_cast<int>(Finding::no_progress) + 1;

const char* to_text(Finding finding);

// Which schedule to run, and how.
struct Order {
  std::uint64_t seed = 1;
  const Selection* selection = nullptr;  // null: all decisions
  bool keep_history = false;
};

class Outcome {
 public:
  void find(Finding finding, std::string what) {
    std::string& first = first_[static_cast<std::size_t>(finding)];
    if (first.empty()) first = std::move(what);
  }
  bool has(Finding finding) const { return !what(finding).empty(); }
  // In words; empty if it was not found.
  const std::string& what(Finding finding) const {
    return first_[static_cast<std::size_t>(finding)];
  }

  FaultSet faults;            // that happened
  std::size_t decisions = 0;  // that were made
  std::vector<std::string> history;

 private:
  std::array<std::string, kFindings> first_;
};

}  // namespace holdfast::lab::sim
