// QueueKey: the key of a claim that is being acquired, in its lock's queue: puts it there, and reads what is before
// it. Asked again after a lost answer, etcd shows the same. Inside the loop only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engines/etcd/claims.h"

namespace holdfast::internal::etcd {

class QueueKey {
 public:
  QueueKey(Runtime& runtime, Cluster& cluster, Claims& claims, const Claim& claim,
           const Wait& wait);

  const Keys& keys() const { return keys_; }
  const std::string& key() const { return key_; }
  Revision created() const { return created_; }  // when it was last seen
  LeaseId lease() const { return lease_; }
  void moved_to(LeaseId lease) { lease_ = lease; }
  // The value of the key.
  std::string note(bool granted) const;

  // The key has been in the queue.
  bool entered() const { return entered_; }
  // An earlier request had put it there: others may have come behind it.
  bool found() const { return found_; }
  // A request for it was not answered, and may yet be executed.
  bool unsure() const { return unsure_; }
  // It is not there, nor is a request under way that could make it.
  bool clean() const { return clean_; }
  void removed() { clean_ = clean_ || !unsure_; }
  std::optional<BootTime> answered_at() const { return answered_at_; }

  // For requests of this claim. Even a caller that does not wait at all gets some time for an answer.
  Deadline answer_deadline() const;

  // Into the queue, and what is before it: one round trip, as soon as EntryLimit admits it.
  Task<Result<Position>> enter(SessionPtr session);
  // The same, but only if that makes it the holder's. For permits, which etcd cannot count in a condition, after a
  // read.
  Task<Result<Position>> enter_if_free(SessionPtr session);
  Task<Result<Position>> read(Detail detail);
  // Whether the key and these predecessors are still there and nothing was said at them. Cheaper than a read:
  // etcd scans no range for it.
  Task<Result<bool>> unchanged(std::vector<Predecessor>& predecessors, Position& position);
  // Finds out for all claims of ours in this queue what is before them.
  Task<Result<void>> find_predecessors_of_all();

 private:
  // Sends a transaction that may put the key, and hears the end of it even if the caller gives up.
  Task<Result<Answer<TxnAnswer>>> send(Txn txn);
  Position position_after_put(TxnAnswer answer, const SessionPtr& session);
  Position learn(const TxnAnswer& answer);

  Runtime& runtime_;
  Cluster& cluster_;
  Claims& claims_;
  const Claim& claim_;
  const Wait& wait_;
  const Keys keys_;
  const std::string key_;
  const WallTime since_;
  Revision created_ = 0;
  LeaseId lease_ = 0;
  bool entered_ = false;
  bool found_ = false;
  bool unsure_ = false;
  bool clean_ = true;
  std::optional<BootTime> answered_at_;
};

}  // namespace holdfast::internal::etcd
