// Predecessors: the keys that a waiting claim watches: those before it, and its own. Inside the loop only.
#pragma once

#include <string>
#include <vector>

#include "engines/etcd/queue_key.h"
#include "engines/etcd/watcher.h"

namespace holdfast::internal::etcd {

class Predecessors {
 public:
  // `owner` is told through Claims when a claim of ours holds with one of these keys.
  Predecessors(Runtime& runtime, Watcher& watcher, Claims& claims, const Claim& claim,
               const QueueKey& key, Acquisition& owner)
      : watches(runtime, watcher), claims_(claims), claim_(claim), key_(key), owner_(owner) {}
  ~Predecessors() { clear(); }
  Predecessors(const Predecessors&) = delete;
  Predecessors& operator=(const Predecessors&) = delete;

  // Watches the predecessors of `position`, unless it does already. `session`: the claim's.
  void watch(const Position& position, const Session& session);
  void clear();
  // The meaning of the events so far.
  Effect take_events();
  // A claim of this client holds with that key now.
  void on_granted(const std::string& key, Revision created);

  std::vector<Predecessor>& keys() { return keys_; }
  WatchSet watches;

 private:
  Claims& claims_;
  const Claim& claim_;
  const QueueKey& key_;
  Acquisition& owner_;
  std::vector<Predecessor> keys_;
};

}  // namespace holdfast::internal::etcd
