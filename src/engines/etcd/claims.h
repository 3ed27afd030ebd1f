// Claims: this client's own claims: their keys, those that hold, and those that are being acquired. Inside the loop
// only.
#pragma once

#include <string>
#include <unordered_map>

#include "engines/etcd/entry_limit.h"
#include "engines/etcd/key_slots.h"
#include "engines/etcd/queue.h"
#include "engines/etcd/sessions.h"
#include "engines/kit/local_queue.h"

namespace holdfast::internal::etcd {

class Acquisition;

class Claims {
 public:
  explicit Claims(Runtime& runtime) : slots(runtime), entry_limit(runtime) {}

  KeySlots slots;
  EntryLimit entry_limit;
  LocalQueue<Predecessor> queue;  // the exclusive ones that wait; locks by Keys::base

  // ---- Held ----
  // Null if it does not hold. Valid until forget().
  HeldKey* held(const ClaimId& id);
  // From now on, or now on another session.
  void hold(HeldKey held);
  void forget(const ClaimId& id);

  // ---- Being acquired ----
  void add(const ClaimId& id, Acquisition& acquisition) { acquiring_[id] = &acquisition; }
  void remove(const ClaimId& id, const Acquisition& acquisition);
  bool acquiring(const ClaimId& id) const { return acquiring_.contains(id); }
  // The claim is being released.
  void end_acquisition(const ClaimId& id);
  void on_session_lost();

  // `acquisition` waits for the end of `key`.
  void add_watch(const std::string& key, Acquisition& acquisition);
  void remove_watch(const std::string& key, const Acquisition& acquisition);
  // Those who wait for `key` learn that its claim holds now. etcd tells them too late, or not at all.
  void tell_granted(const std::string& key, Revision created);

 private:
  std::unordered_map<ClaimId, HeldKey> held_;
  std::unordered_map<ClaimId, Acquisition*> acquiring_;
  std::unordered_multimap<std::string, Acquisition*> watches_;
};

}  // namespace holdfast::internal::etcd
