// The part of a Turn that is about what is in its way: watching it, and what is heard of it.
#include <algorithm>

#include "engines/etcd/turn.h"

namespace holdfast::internal::etcd {

void Turn::watch(const Standing& standing) {
  const bool same = std::equal(watched_.begin(), watched_.end(), standing.in_the_way.begin(),
                               standing.in_the_way.end(), [](const InTheWay& a, const InTheWay& b) {
                                 return a.key == b.key && a.created == b.created;
                               });
  if (same) {
    for (std::size_t i = 0; i < watched_.size(); ++i) {
      watched_[i].last = watched_[i].last || standing.in_the_way[i].last;
    }
    return;
  }
  stop_watching();
  watched_ = standing.in_the_way;
  // Our own as well: who takes our key away must not find us a holder later. One watch does for all
  // places of this client; it hears of our own releases too, and is worth that for a while.
  constexpr int kOwnReleases = 2;
  const std::string places = Places::common_part(key_);
  const Scope ours = claim_.outlives_process
                         ? Scope{.key = key_, .end = {}, .tell = Tell::ends}
                         : Scope{.key = places, .end = end_of_prefix(places), .tell = Tell::ends};
  const Keep keep_ours{.lock = claim_.outlives_process ? std::string() : keys_.base,
                       .patience = kOwnReleases};
  vigil_.watch(key_, ours, keep_ours);
  for (InTheWay& key : watched_) {
    if (claim_.mode == Mode::permit) {
      // It must hear of marks as well: they say how many hold.
      vigil_.watch(key.key, Scope{.key = key.key, .end = {}, .tell = Tell::everything});
    } else if (!claim_.outlives_process && key.key.starts_with(places)) {
      vigil_.watch(key.key, ours, keep_ours);
      const auto held = (*session_)->held.find(key.key);
      if (held != (*session_)->held.end()) hear_of_holder(key.key, held->second.token);
    } else {
      vigil_.watch(key.key, Scope{.key = key.key}, Keep{.lock = keys_.base});
    }
    common_.watched.emplace(key.key, this);
  }
}

void Turn::hear_of_holder(const std::string& holder, Revision created) {
  for (InTheWay& key : watched_) {
    const bool alone = key.mode == Mode::exclusive && claim_.mode != Mode::permit;
    if (key.key == holder && key.created == created && alone) key.last = true;
  }
}

void Turn::stop_watching() {
  vigil_.clear();
  for (const InTheWay& key : std::exchange(watched_, {})) {
    const auto [begin, end] = common_.watched.equal_range(key.key);
    common_.watched.erase(
        std::find_if(begin, end, [&](const auto& one) { return one.second == this; }));
  }
}

bool Turn::hear(bool& again) {
  bool ours = false;
  for (const Vigil::Told& told : std::exchange(vigil_.events, {})) {
    // (What happened in the same place before is none of our business.)
    if (told.which == 0) {
      const bool gone = told.event.removed && told.event.pair.modified > created_;
      again = again || gone;
      if (gone) return false;
      continue;
    }
    InTheWay& key = watched_.at(told.which - 1);
    if (told.event.removed && told.event.pair.modified > key.created) {
      common_.heard_removal(key.key, key.created);
    }
    const News news = news_of(key, keys_, claim_, told.event);
    ours = ours || news == News::our_turn;
    again = again || news == News::look_again;
  }
  return ours;
}

}  // namespace holdfast::internal::etcd
