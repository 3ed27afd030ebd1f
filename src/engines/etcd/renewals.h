// Renewals: keeps holds. One keep-alive for all holds of a session, and then a read, all at one revision, whether
// their keys are still there; the read also makes the keep-alive believable (see sessions.h). Inside the loop only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engines/etcd/claims.h"

namespace holdfast::internal::etcd {

class Renewals {
 public:
  Renewals(Runtime& runtime, Cluster& cluster, Sessions& sessions, Claims& claims)
      : runtime_(runtime), cluster_(cluster), sessions_(sessions), claims_(claims) {}

  // As Engine::renew.
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline);

 private:
  struct Item {
    const Hold* hold;
    Result<Grant>* outcome;
    std::string key = {};

    Revision token() const { return static_cast<Revision>(hold->token.value()); }
  };
  using Items = std::vector<Item>;

  // Of a hold that this client did not take itself: its key tells the lease.
  Task<void> find_session(Item item, Deadline deadline);
  Task<void> renew_session(SessionPtr session, Items items, Deadline deadline);
  // At most kMaxKeysInTxn. False if the keep-alive was not confirmed: there is another leader.
  Task<Result<bool>> renew_part(SessionPtr session, std::span<const Item> items,
                                KeepAlive keep_alive, Deadline deadline);
  // To a session of the present leader's: see sessions.h.
  Task<void> move(SessionPtr session, Items items, Deadline deadline);
  Task<void> move_one(SessionPtr session, Item item, Deadline deadline);

  Runtime& runtime_;
  Cluster& cluster_;
  Sessions& sessions_;
  Claims& claims_;
};

Failure no_longer_held(const Claim& claim);

}  // namespace holdfast::internal::etcd
