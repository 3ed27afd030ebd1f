// SimStore: a lock server for the simulation, as simple as it can be and still be right: one
// exclusive holder per store, a queue, expiry by the server's own clock, everything by claim id.
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "base/sim_runtime.h"
#include "holdfast/engine.h"

namespace holdfast::lab {

class SimStore : private Timer {
 public:
  explicit SimStore(internal::SimRuntime& node) : node_(node) {}
  ~SimStore() override { node_.disarm(*this); }

  // Told that it may hold the lock now, and should ask.
  using Push = std::function<void()>;

  // The token if the claim holds now.
  std::optional<Token> acquire(const ClaimId& claim, Duration ttl, bool queue, Push push);
  bool renew(const ClaimId& claim, Duration ttl);
  bool release(const ClaimId& claim);

  std::optional<ClaimId> holder() { return drop_expired(), holder_; }

 private:
  struct Waiter {
    ClaimId claim;
    Push push;
    BootTime gone_at;  // unless it asks again before
  };

  // Also waiters that have not asked for a whole ttl: they are gone.
  void drop_expired();
  // The holder has expired: the next one is told at once, so that a holder who believes too long
  // is caught.
  void on_time() override;
  void extend(Duration ttl);
  Token grant(const ClaimId& claim, Duration ttl);
  void forget_waiter(const ClaimId& claim);
  void tell_first();

  internal::SimRuntime& node_;
  std::optional<ClaimId> holder_;
  BootTime expires_;
  std::uint64_t token_ = 0;
  std::deque<Waiter> waiters_;
};

}  // namespace holdfast::lab
