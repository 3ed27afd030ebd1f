// Ballot: what one node answered when it was asked for its vote.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "holdfast/engine.h"

namespace holdfast::internal::quorum {

// A time in which votes may be added up. No two are the same, whoever begins them: the second number
// is random.
struct Era {
  std::uint64_t number = 0;
  std::uint64_t nonce = 0;
  friend bool operator==(const Era&, const Era&) = default;
  friend auto operator<=>(const Era&, const Era&) = default;
};

// When a claim came to wait: its rank in the queues. All nodes should have the same order, or each
// would serve another; so it is the same number for all, unless that clock is wrong.
struct Arrival {
  BootTime at;
  WallTime wall;
};
// Nothing: it does not wait.
using Ticket = std::optional<Arrival>;

// A proposal to a node.
struct Proposal {
  std::uint64_t token = 0;
  Era era;
  std::uint32_t attempt = 0;  // of this claim; a request that ends one never ends a later one
  Ticket ticket;
  bool held = false;  // the claim was granted this token already, and wants one node more
};

struct Ballot {
  enum class Kind {
    locked,       // the node's word is the claim's
    busy,         // it is somebody else's
    closed,       // the node does not vote: it is new, has lost its data, or is of another era
    unreachable,  // it was not asked, or refused
    silent,       // it was asked and did not answer: the vote may have been given
  };
  Kind kind = Kind::unreachable;
  bool accepted = false;    // (locked) the token as well
  std::uint64_t fence = 0;  // (locked, busy) the highest token that the node has accepted
  bool own = false;         // (locked, not accepted) that one was accepted for this very claim
  std::uint64_t most = 0;   // (locked, not accepted) above this it accepts none; 0: not said
  bool resent = false;      // what was asked after it may have been done before it
  BootTime sent_at{};       // (locked) the vote counts from here
  std::string holder;       // (busy) whose word it is: the same text at every node
  Busy busy;                // (busy) the same for people
  bool foreign = false;     // (busy) held by another kind of client, which tells nobody
  std::string why;          // (unreachable, silent, closed) for people
  Code code = Code::unreachable;  // (unreachable) misconfigured if trying again cannot help
};

}  // namespace holdfast::internal::quorum
