// SimEngine: an engine whose server is a LockStore behind a SimNetwork.
#pragma once

#include <unordered_map>

#include "holdfast/engine.h"
#include "lab/sim/lock_store.h"
#include "lab/sim/sim_calls.h"

namespace holdfast::lab::sim {

// Where the clients find the server; another one after a failover.
struct SimServer {
  internal::SimRuntime* node = nullptr;
  LockStore* store = nullptr;
};

struct ClientRules {
  Duration request_timeout = std::chrono::milliseconds(300);
  bool sessions = false;
  Duration margin{};  // taken off the ttl: the server ends holds early by up to so much

  // Mistakes.
  bool counts_from_reply = false;          // a grant's time
  bool counts_renewal_from_reply = false;  // a renewal's
  bool never_checks_time = false;
  bool trusts_watch = false;  // the place before mine is gone: the lock must be mine
};

class SimEngine final : public Engine {
 public:
  // Sessions of one engine have numbers of their own: `first_session` and those after it.
  SimEngine(internal::SimRuntime& node, SimServer& server, SimNetwork& network,
            const ClientRules& rules, std::uint64_t first_session);

  void set_connected(bool sends, bool hears) { calls_.set_connected(sends, hears); }

  const Guarantees& guarantees() const override { return guarantees_; }
  Task<Result<Grant>> acquire(const Claim& claim, const Wait& wait) override;
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline) override;
  Task<Result<bool>> release(const Claim& claim, Deadline deadline) override;
  Task<Result<void>> detach(const Hold& hold, Deadline deadline) override;
  Task<Result<std::vector<LockInfo>>> list(const std::string& prefix, Deadline deadline) override;
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override;
  Task<Result<void>> evict(const Name& name, Token token, Deadline deadline) override;

 private:
  // Asks the server that is the right one now.
  template <class T>
  Task<Result<SimCalls::Reply<T>>> call(std::function<T(LockStore&)> question, Deadline deadline);
  Task<Result<SimCalls::Reply<LockStore::Answer>>> ask(const Claim& claim, bool queue,
                                                       LockStore::Push push);
  Task<Result<bool>> release_once(ClaimId claim, Deadline deadline);
  // The remains of a session stay as long as it lives: so they are taken back until they are gone.
  Task<void> release_until_answered(ClaimId claim);
  Grant grant_of(Token token, BootTime sent_at, Duration ttl, bool from_reply) const;

  internal::SimRuntime& node_;
  SimServer& server_;
  ClientRules rules_;
  Guarantees guarantees_;
  std::uint64_t session_;
  std::uint64_t requests_ = 0;
  std::unordered_map<ClaimId, Event*> waiting_;
  SimCalls calls_;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::lab::sim
