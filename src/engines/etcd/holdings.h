// Holdings: what this client holds, by claim. Inside the loop only.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>

#include "engines/etcd/sessions.h"

namespace holdfast::internal::etcd {

struct Holding {
  SessionPtr session;
  std::string key;
  Revision token = 0;
  // A request for it was not answered, and may be executed when the hold is over.
  bool unsure = false;
  bool ending = false;  // a request to end it was sent, and perhaps not answered
  bool moving = false;  // a request to move it to another lease was sent, and not answered
};

class Holdings {
 public:
  const Holding* find(const ClaimId& id) const {
    const auto found = all_.find(id);
    return found == all_.end() ? nullptr : &found->second;
  }

  void remember(const Claim& claim, Holding holding, BootTime ends_at) {
    // What outlives this process ends with its own lease.
    if (holding.session->shared) {
      holding.session->held[holding.key] = HeldKey{claim.id, holding.token, ends_at};
    }
    all_[claim.id] = std::move(holding);
  }

  void renewed(const ClaimId& id, BootTime ends_at) {
    const auto found = all_.find(id);
    if (found == all_.end()) return;
    auto& held = found->second.session->held;
    if (const auto key = held.find(found->second.key); key != held.end()) {
      key->second.ends_at = ends_at;
    }
  }

  void begin_to_move(const ClaimId& id) {
    const auto found = all_.find(id);
    if (found != all_.end()) found->second.moving = true;
  }

  void begin_to_end(const ClaimId& id) {
    const auto found = all_.find(id);
    if (found != all_.end()) found->second.ending = true;
  }

  void forget(const ClaimId& id) {
    const auto found = all_.find(id);
    if (found == all_.end()) return;
    found->second.session->held.erase(found->second.key);
    all_.erase(found);
  }

 private:
  std::unordered_map<ClaimId, Holding> all_;
};

}  // namespace holdfast::internal::etcd
