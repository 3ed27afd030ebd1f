// Renewals: keeps holds. One keep-alive for all holds of a session, and then a look, all at one
// revision, whether their keys are still there; the look also makes the keep-alive believable (see
// sessions.h). Inside the loop only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engines/etcd/common.h"
#include "engines/etcd/keys.h"

namespace holdfast::internal::etcd {

class Renewals {
 public:
  Renewals(Runtime& runtime, Cluster& cluster, Sessions& sessions, Holdings& holdings,
           std::string prefix)
      : runtime_(runtime),
        cluster_(cluster),
        sessions_(sessions),
        holdings_(holdings),
        prefix_(std::move(prefix)) {}

  // As Engine::renew.
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline);

 private:
  struct Item {
    const Hold* hold;
    std::string key;
    Result<Grant>* outcome;
  };

  // Holds that this client did not take itself: the key tells the lease.
  Task<void> find_session(Item item, Deadline deadline, SessionPtr& session);
  Task<void> renew_session(SessionPtr session, std::vector<Item> items, Deadline deadline);
  // To a session of the present leader's: see sessions.h.
  Task<void> move(SessionPtr session, std::vector<Item> items, Deadline deadline);
  Task<void> move_one(SessionPtr session, Item item, Deadline deadline);
  // False if the sign was not confirmed: there is another leader.
  Task<Result<bool>> renew_part(Session& session, std::span<Item> items, const Sign& sign,
                                Deadline deadline);

  Runtime& runtime_;
  Cluster& cluster_;
  Sessions& sessions_;
  Holdings& holdings_;
  const std::string prefix_;
};

Failure no_longer_held(const Claim& claim);

}  // namespace holdfast::internal::etcd
