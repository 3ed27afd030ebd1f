// Deadlocks: owners that wait for each other across locks, engines included, found in what Client::list() tells.
//
//   std::vector<holdfast::EngineLocks> before = {{"redis", *redis.list()}, {"postgres", *postgres.list()}};
//   … a moment later the same again: `after` …
//   for (const holdfast::Deadlock& each : holdfast::confirmed(before, after)) …
//
// A claim waits for the holders that conflict with it, and where the queue is in order, for the conflicting claims ahead
// of it; one that wants a permit waits until so many of them are gone that one is free. An owner can go on if all that
// it waits for is held by owners that can go on. The others are stuck, and those among them that wait for each other in
// a circle are a deadlock.
//
// Claims without an owner (LockOptions::owner) are left out: nobody knows for what else they wait. Claims are never
// taken together by their labels. An owner with several threads may be thought stuck although only one of its threads
// is. docs/DEADLOCKS.md says what can be known, and what cannot.
//
// Thread safety: pure functions. Their time grows about linearly with the number of holders and waiters.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "holdfast/engine.h"
#include "holdfast/export.h"

namespace holdfast {

// One look at one engine.
struct EngineLocks {
  std::string engine;  // how it is called in the result: a name for each
  std::vector<LockInfo> locks;
  // Only where it is fifo does a waiter wait for those ahead of it: Client::guarantees().fairness.
  Fairness fairness = Fairness::fifo;
};

struct Deadlock {
  struct Owner {
    std::string owner;
    std::string label;  // of one of its claims: show it as printable(label)

    friend bool operator==(const Owner&, const Owner&) = default;
  };
  // Holds what somebody waits for, or is ahead in the queue.
  struct Blocker {
    std::string owner;
    std::string label;
    std::optional<Token> token;  // none: it waits, too
    ClaimId id;
  };
  struct Wait {
    std::string owner;
    std::string label;
    std::string engine;
    Name name;
    Mode mode = Mode::exclusive;
    std::optional<Duration> waited_for;
    ClaimId id;
    // Those of this deadlock that it waits for: holders first, then those ahead in the queue, the next one first. Of
    // those ahead that wait for others of them, only the next; never more than kMostBlockers.
    std::vector<Blocker> waits_for;
  };
  static constexpr std::size_t kMostBlockers = 20;

  std::vector<Owner> owners;
  // Where that is possible, each of an owner that the one before it waits for. The first began the longest ago.
  std::vector<Wait> waits;
  // The owner whose wait began last, which closed the circle; empty if no engine told how long anybody waits.
  std::string youngest;
  // So many other owners cannot go on before this is resolved. One that waits for two deadlocks counts for one of them.
  std::size_t behind = 0;
  // True: an owner waits for something that it holds itself (owners may be just one). That is a deadlock if one thread
  // does both, and none if the holder is another thread of the same owner.
  bool only_possible = false;
};

// In one look: what several engines told one after the other was never true at one moment, so that locks which change
// hands meanwhile can look like a deadlock. See confirmed(). Certain ones come before those that are only possible.
HOLDFAST_API std::vector<Deadlock> find_deadlocks(std::span<const EngineLocks> look);

// Those that were there in both looks: the same waits (WaiterInfo::id) and the same holds (token and HolderInfo::id),
// with the times of the second. REQUIRES: the first look had ended when the second began; engines have the same names
// in both.
// An engine that is in one look only is left out.
HOLDFAST_API std::vector<EngineLocks> in_both(std::span<const EngineLocks> before,
                                              std::span<const EngineLocks> after);

// The deadlocks that were there between the two looks: find_deadlocks(in_both(before, after)).
HOLDFAST_API std::vector<Deadlock> confirmed(std::span<const EngineLocks> before,
                                             std::span<const EngineLocks> after);

}  // namespace holdfast
