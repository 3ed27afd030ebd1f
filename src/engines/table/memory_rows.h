// MemoryRows: the rows of one lock in memory. For the engine `memory`, and for the simulation's stores.
#pragma once

#include <vector>

#include "engines/table/rows.h"

namespace holdfast::internal::table {

class MemoryRows : public Rows {
 public:
  virtual ~MemoryRows() = default;

  std::vector<HolderRow> holders() override { return holders_; }
  std::optional<std::int64_t> token_of(const ClaimId& holder) override;
  void add_holder(const HolderRow& holder) override { holders_.push_back(holder); }
  bool remove_holder(const ClaimId& claim) override;
  void set_expiry(const ClaimId& holder, std::int64_t expires, std::int64_t ttl) override;

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
  bool permit_awaited() override;
  std::uint64_t count_before(std::int64_t seq) override;
  ProcessId process_before(std::int64_t seq) override;

  ProcessId me() override { return asking; }
  std::string label_of(ProcessId) override { return {}; }

  // Null if it does not hold.
  HolderRow* find_holder(const ClaimId& claim);

  ProcessId asking = 0;  // the client whose request is served

 private:
  virtual void on_removed(const WaiterRow& /*waiter*/) {}
  // How many there were.
  template <class IsMeant>
  std::int64_t remove(IsMeant is_meant) {
    return static_cast<std::int64_t>(std::erase_if(line_, [&](const WaiterRow& row) {
      if (!is_meant(row)) return false;
      on_removed(row);
      return true;
    }));
  }

  std::vector<HolderRow> holders_;  // by token: later grants have higher ones
  std::vector<WaiterRow> line_;     // by seq
  std::int64_t last_seq_ = 0;
};

}  // namespace holdfast::internal::table
