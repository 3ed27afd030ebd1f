// SimStore: a lock server as simple as it can be and still be right: one exclusive holder, a queue,
// expiry by the server's own clock. Rules make it a Redis, a row in a database, a memcached; or
// one of the mistakes of the literature.
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "lab/sim/lock_store.h"

namespace holdfast::lab::sim {

struct StoreRules {
  bool wall_clock = false;  // holds end by a clock that can jump
  Duration ends_early{};    // by up to so much
  // Where tokens come from. A counter that begins at 0, unless:
  enum class Tokens {
    counter,
    server_clock,  // max(last + 1, the server's wall clock in µs)
    client_clock,  // as the counter, which begins with the wall clock of who asks
  };
  Tokens tokens = Tokens::counter;
  bool keeps_line = true;  // else waiters ask again and again

  // Mistakes.
  bool anyone_releases = false;
  bool renewal_creates = false;
  bool never_expires = false;
  bool newcomers_barge = false;
};

class SimStore final : public LockStore, private Timer {
 public:
  explicit SimStore(internal::SimRuntime& node, const StoreRules& rules = {})
      : node_(node), rules_(rules) {}
  ~SimStore() override { node_.disarm(*this); }

  Answer acquire(const Ask& ask) override;
  bool renew(const ClaimId& claim, Duration ttl, std::uint64_t session) override;
  bool release(const ClaimId& claim) override;
  std::optional<ClaimId> holder() override { return drop_expired(), data_.holder; }
  void on_clock_jump() override { on_time(); }
  void restart() override;
  void wipe() override;
  void evict(bool token_too) override;

  // Its data, for a replica.
  struct Data {
    std::optional<ClaimId> holder;
    Duration expires{};  // by the store's clock
    std::uint64_t token = 0;
  };
  void adopt(const Data& data);
  std::function<void(const Data&)> on_change;

 private:
  struct Waiter {
    ClaimId claim;
    Push push;
    BootTime gone_at;  // unless it asks again before
  };

  Duration clock() const;
  // Also waiters that have not asked for a whole ttl: they are gone.
  void drop_expired();
  // The holder has expired: the next one is told at once, so that a holder who believes too long
  // is caught.
  void on_time() override;
  void extend(Duration ttl);
  void changed();
  std::uint64_t next_token(const Ask& ask) const;
  Answer grant(const Ask& ask);
  Answer wait(const Ask& ask);
  void forget_waiter(const ClaimId& claim);
  void tell_first();

  internal::SimRuntime& node_;
  StoreRules rules_;
  Data data_;
  std::deque<Waiter> waiters_;
};

}  // namespace holdfast::lab::sim
