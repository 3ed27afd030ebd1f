// Renewer: keeps all leases of one client alive. Each is renewed a third of its ttl after the last
// successful renewal was sent; those that fall due together go to the engine in one batch. A
// failure that may pass is tried again until the lease's end; then, and at once when the engine
// says that the hold is gone, the lease is declared lost. When the engine is in doubt about holds,
// they are renewed at once, those that are not renewed by themselves too: that is how it is asked.
//
// The loss itself is told by the watchdog, which waits for nothing that happens here. In a simulation there
// is no watchdog: the renewer then tells it.
//
// Inside the loop only.
#pragma once

#include <memory>
#include <vector>

#include "holdfast/engine.h"
#include "holdfast/observer.h"
#include "holdfast/runtime.h"
#include "lease/lease_record.h"

namespace holdfast::internal {

class Renewer : private Runnable, private DoubtListener {
 public:
  Renewer(Runtime& runtime, Engine& engine, TaskGroup& tasks, Observer& observer,
          Duration request_timeout, Watchdog* watchdog = nullptr);
  ~Renewer() override;

  // `grant` is what the record's lease rests on now.
  void add(LeaseRecord& record, const Grant& grant);
  // After this, no renewal of it begins, and one under way changes nothing any more.
  void remove(LeaseRecord& record);

  // Renews one lease now. not_held if it is lost, by this or before.
  Task<Result<void>> renew_now(std::shared_ptr<LeaseRecord> record);

 private:
  friend class LeaseRecord;
  using Batch = std::vector<std::shared_ptr<LeaseRecord>>;

  // Bounds how long one batch keeps the loop busy on an engine that works inline.
  static constexpr std::size_t kMaxBatch = 256;

  void on_time(LeaseRecord& record);
  void on_doubt(const ClaimId* claim) override;
  void make_due(LeaseRecord& record);
  void forget(LeaseRecord& record);
  void run() override;  // Sends what is due.
  Task<void> renew(Batch batch);
  void take(LeaseRecord& record, const Result<Grant>& outcome);
  void schedule(LeaseRecord& record, BootTime renew_at);
  BootTime next_renewal(const Grant& grant);
  void tell_of_loss(LeaseRecord& record);
  void declare_lost(LeaseRecord& record);

  Runtime& runtime_;
  Engine& engine_;
  TaskGroup& tasks_;
  Observer& observer_;
  Duration request_timeout_;
  Watchdog* watchdog_;
  // Clients should not act in step; the leases of one client should: those that were granted one
  // after the other lie side by side in the store, and are renewed at less cost together.
  double pace_;
  Batch due_;
  LeaseRecord* first_ = nullptr;  // of all records, the newest first
};

}  // namespace holdfast::internal
