// TableStore: a database server with a lock table. The code that ships (engines/table/turn.h)
// decides who holds, who is next and what becomes of a late, repeated or forgotten request; only the
// rows behind it are in memory, and a renewal, which is one statement there, is one here.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "engines/table/memory_rows.h"
#include "engines/table/turn.h"
#include "lab/sim/lock_store.h"

namespace holdfast::lab::sim {

class StoreRows final : public internal::table::MemoryRows {
 public:
  using ProcessId = internal::table::ProcessId;

  bool gone(ProcessId process) override;

  BootTime now;
  std::map<ProcessId, BootTime> expected;  // who has not asked again until then is gone
  std::vector<ClaimId> dropped;            // waiters that were gone

 private:
  void on_removed(const internal::table::WaiterRow& waiter) override {
    if (gone(waiter.process)) dropped.push_back(waiter.claim);
  }
};

class TableStore final : public LockStore, private Timer {
 public:
  explicit TableStore(internal::SimRuntime& node) : node_(node) {}
  ~TableStore() override { node_.disarm(*this); }

  Answer acquire(const Ask& ask) override;
  bool renew(const ClaimId& claim, Duration ttl, std::uint64_t session) override;
  bool release(const ClaimId& claim) override;
  std::optional<ClaimId> holder() override;
  void on_clock_jump() override { on_time(); }
  void restart() override;
  void wipe() override {}  // It is durable.

 private:
  std::int64_t clock() const;  // the server's wall clock
  std::int64_t end() const;    // of the present hold
  internal::table::Turn begin_turn(internal::table::ProcessId asking);
  // Those who were gone leave the line, before anybody else is served.
  void see_dropped();
  // Tells those whom the turn has given the lock, or who should look again.
  void finish_turn(internal::table::Turn& turn);
  void arm();
  // The holder's time is over: the next one is told at once, so that a holder who believes too long
  // is caught.
  void on_time() override;

  internal::SimRuntime& node_;
  internal::table::LockRow row_;
  StoreRows rows_;
  std::unordered_map<ClaimId, Push> pushes_;
};

}  // namespace holdfast::lab::sim
