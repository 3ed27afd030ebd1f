// SessionStore: a lock server as ZooKeeper and etcd are: claims stand in a line in the order in
// which they came, and the first of them holds. A waiter lasts as long as the session that made it;
// a waiter is told when the one before it goes. Data and sessions survive, for they are kept by
// consensus; a new leader gives every session its whole time again.
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "lab/sim/lock_store.h"

namespace holdfast::lab::sim {

class SessionStore final : public LockStore, private Timer {
 public:
  explicit SessionStore(internal::SimRuntime& node) : node_(node) {}
  ~SessionStore() override { node_.disarm(*this); }

  Answer acquire(const Ask& ask) override;
  bool renew(const ClaimId& claim, Duration ttl, std::uint64_t session) override;
  bool release(const ClaimId& claim) override;
  std::optional<ClaimId> holder() override;
  bool in_order(std::uint64_t session, std::uint64_t number) override {
    std::uint64_t& last = arrived_[session];
    if (number <= last) return false;
    last = number;
    return true;
  }
  void restart() override;
  void wipe() override {}  // A majority keeps what it has.
  void change_leader() override;

  std::uint64_t sessions_ended = 0;

 private:
  struct Waiter {
    ClaimId claim;
    std::uint64_t session = 0;
    Token token;  // of its creation: as the line is, so are the tokens
    Push push;
  };
  struct Session {
    BootTime ends;
    Duration ttl{};
  };

  // False if the session has ended. It lasts for another ttl.
  bool touch(std::uint64_t session, Duration ttl);
  void end_sessions();
  void on_time() override { end_sessions(), arm(); }
  void arm();
  // The waiter goes, and the one behind it is told.
  void remove(std::size_t index);
  std::size_t index_of(const ClaimId& claim) const;

  internal::SimRuntime& node_;
  std::unordered_map<std::uint64_t, Session> sessions_;
  std::set<std::uint64_t> ended_;
  std::unordered_map<std::uint64_t, std::uint64_t> arrived_;  // the last request of a session
  std::vector<Waiter> line_;
  std::uint64_t transactions_ = 0;
};

}  // namespace holdfast::lab::sim
