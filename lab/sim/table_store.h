// TableStore: a database server with a lock table. The code that ships (engines/table/turn.h)
// decides who holds, who is next and what becomes of a late, repeated or forgotten request; only the
// rows behind it are in memory, and a renewal, which is one statement there, is one here.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "engines/table/turn.h"
#include "lab/sim/lock_store.h"

namespace holdfast::lab::sim {

// The rows of one exclusive lock.
class MemoryRows final : public internal::table::Rows {
 public:
  using ProcessId = internal::table::ProcessId;
  using HolderRow = internal::table::HolderRow;
  using WaiterRow = internal::table::WaiterRow;

  // Nobody shares it.
  std::vector<HolderRow> holders() override { return {}; }
  std::optional<std::int64_t> token_of(const ClaimId&) override { return std::nullopt; }
  void add_holder(const HolderRow&) override {}
  bool remove_holder(const ClaimId&) override { return false; }
  void set_expiry(const ClaimId&, std::int64_t, std::int64_t) override {}
  bool permit_awaited() override { return false; }

  std::optional<WaiterRow> head() override;
  std::vector<WaiterRow> line() override { return line_; }
  std::optional<std::int64_t> place_of(const ClaimId& waiter) override;
  void add_waiter(const WaiterRow& waiter) override;
  void remove_waiter(std::int64_t seq) override {
    remove([&](const WaiterRow& row) { return row.seq == seq; });
  }
  std::int64_t remove_waiters_of(ProcessId process) override {
    return remove([&](const WaiterRow& row) { return row.process == process; });
  }
  std::optional<WaiterRow> behind(std::int64_t seq) override;
  std::uint64_t count_before(std::int64_t seq) override;
  ProcessId process_before(std::int64_t seq) override;

  ProcessId me() override { return asking; }
  bool gone(ProcessId process) override;
  std::string label_of(ProcessId) override { return ""; }

  ProcessId asking = 0;
  BootTime now;
  std::map<ProcessId, BootTime> expected;  // who has not asked again until then is gone
  std::vector<ClaimId> dropped;            // waiters that were gone

 private:
  // How many there were.
  std::int64_t remove(const std::function<bool(const WaiterRow&)>& is_meant);

  std::vector<WaiterRow> line_;
  std::int64_t last_seq_ = 0;
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
  MemoryRows rows_;
  std::unordered_map<ClaimId, Push> pushes_;
};

}  // namespace holdfast::lab::sim
