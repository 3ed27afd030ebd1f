// Holds: what this client holds at one server, and with which stamp. The token of a new hold is
// recorded in its word a moment later, in the background: who releases before that never pays for
// it. Inside the loop only.
#pragma once

#include <deque>
#include <unordered_map>

#include "engines/memcached/node.h"

namespace holdfast::internal::memcached {

struct Held {
  Keys keys;
  Word word;
  ItemTtl ttl;
  Stamp stamp;
  bool recorded = false;  // the word at the server has the token
};

class Holds {
 public:
  Holds(Runtime& runtime, Node& node, Duration request_timeout)
      : runtime_(runtime), node_(node), request_timeout_(request_timeout), background_(runtime) {}

  Held* find(const ClaimId& claim) {
    const auto found = holds_.find(claim);
    return found == holds_.end() ? nullptr : &found->second;
  }
  // A word without its token is completed soon.
  void remember(Held held);
  void forget(const ClaimId& claim) { holds_.erase(claim); }
  // Records a renewal; nothing happens if the claim was forgotten meanwhile.
  void renewed(const ClaimId& claim, const Kept& kept);

  void stop() { background_.stop(); }

 private:
  struct Unrecorded {
    ClaimId claim;
    BootTime due;
  };

  Task<void> record_tokens();
  Task<void> record(std::vector<Held> part);

  Runtime& runtime_;
  Node& node_;
  Duration request_timeout_;
  std::unordered_map<ClaimId, Held> holds_;
  std::deque<Unrecorded> unrecorded_;  // soonest first
  bool recording_ = false;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal::memcached
