// LockStore: a simulated lock server, one lock: everything by claim id. Servers
// differ in how a hold ends, where tokens come from and what a restart leaves.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "holdfast/engine.h"
#include "lab/sim/sim_runtime.h"

namespace holdfast::lab::sim {

// Hears who stands in line, and who is served.
class LineWatcher {
 public:
  virtual ~LineWatcher() = default;
  virtual void on_waiting(const ClaimId& claim) = 0;
  virtual void on_served(const ClaimId& claim) = 0;
  virtual void on_left(const ClaimId& claim) = 0;
  virtual void on_line_lost() = 0;
};

class LockStore {
 public:
  virtual ~LockStore() = default;

  // Tells a waiter that it may hold the lock now, and should ask.
  using Push = std::function<void()>;
  struct Ask {
    ClaimId claim;
    Duration ttl{};
    bool queue = false;
    std::uint64_t session = 0;   // where the server knows sessions
    std::int64_t client_us = 0;  // the client's wall clock, where tokens begin with it
    Push push;
  };
  struct Answer {
    enum class Kind { granted, waiting, busy, no_session };
    Kind kind = Kind::busy;
    Token token;  // (granted, waiting)
  };
  virtual Answer acquire(const Ask& ask) = 0;
  virtual bool renew(const ClaimId& claim, Duration ttl, std::uint64_t session) = 0;
  virtual bool release(const ClaimId& claim) = 0;
  virtual std::optional<ClaimId> holder() = 0;
  // Where a session is one connection after the other: what was overtaken never arrives.
  virtual bool in_order(std::uint64_t /*session*/, std::uint64_t /*number*/) { return true; }

  virtual void on_clock_jump() {}
  // With its data; connections end.
  virtual void restart() = 0;
  virtual void wipe() = 0;
  // The word goes; whether the token goes as well is said.
  virtual void evict(bool) {}
  virtual void change_leader() {}

  void watch_line(LineWatcher* watcher) { watcher_ = watcher; }
  // Whether it answers at all.
  bool serving = true;

 protected:
  LineWatcher* watcher_ = nullptr;
};

}  // namespace holdfast::lab::sim
