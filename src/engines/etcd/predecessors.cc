#include "engines/etcd/predecessors.h"

#include <algorithm>

namespace holdfast::internal::etcd {

void Predecessors::watch(const Position& position, const Session& session) {
  const auto same_key = [](const Predecessor& a, const Predecessor& b) {
    return a.key == b.key && a.created == b.created;
  };
  const std::vector<Predecessor>& next = position.predecessors;
  if (std::ranges::equal(keys_, next, same_key)) {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      keys_[i].end_grants = keys_[i].end_grants || next[i].end_grants;
    }
    return;
  }
  clear();
  keys_ = next;
  // Our own key as well: a claim whose key was taken away must not become a holder. One watch does for all keys of
  // this client.
  const std::string& own = key_.key();
  const std::string prefix = KeySlots::common_prefix(own);
  const bool keep = !claim_.outlives_process;
  const WatchScope ours = keep ? WatchScope{prefix, end_of_prefix(prefix), Tell::ends}
                               : WatchScope{own, {}, Tell::ends};
  watches.add(own, ours, keep);
  for (const Predecessor& one : keys_) {
    if (claim_.mode == Mode::permit) {
      // It must hear of marks as well: they say how many hold.
      watches.add(one.key, WatchScope{one.key, {}, Tell::everything}, false);
    } else if (keep && one.key.starts_with(prefix)) {
      watches.add(one.key, ours, keep);
    } else {
      watches.add(one.key, WatchScope{.key = one.key, .end = {}}, true);
    }
    claims_.add_watch(one.key, owner_);
    const auto held = session.held.find(one.key);
    if (held != session.held.end()) on_granted(one.key, held->second->token);
  }
}

void Predecessors::clear() {
  watches.clear();
  for (const Predecessor& one : std::exchange(keys_, {})) claims_.remove_watch(one.key, owner_);
}

void Predecessors::on_granted(const std::string& key, Revision created) {
  for (Predecessor& one : keys_) {
    const bool holds_alone = one.mode == Mode::exclusive && claim_.mode != Mode::permit;
    if (one.key == key && one.created == created && holds_alone) one.end_grants = true;
  }
}

Effect Predecessors::take_events() {
  Effect all = Effect::none;
  for (const WatchSet::Told& told : std::exchange(watches.events, {})) {
    // (Earlier claims may have had the same keys.)
    if (told.which == 0) {
      const bool gone = told.event.removed && told.event.pair.modified > key_.created();
      if (gone) return Effect::read_again;
      continue;
    }
    const Effect one = effect_of(keys_.at(told.which - 1), key_.keys(), claim_, told.event);
    if (one == Effect::granted || all == Effect::none) all = one;
  }
  return all;
}

}  // namespace holdfast::internal::etcd
