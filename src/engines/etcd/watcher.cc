#include "engines/etcd/watcher.h"

#include <algorithm>
#include <set>

#include "base/require.h"

namespace holdfast::internal::etcd {

Watcher::~Watcher() {
  background_.abandon();
  if (stream_ > 0) cluster_.close_stream(stream_);
}

// ---- Watches -----------------------------------------------------------------------------------

Watcher::Id Watcher::subscribe(const std::string& key, const WatchScope& scope, bool keep,
                               Subscriber subscriber) {
  const Id id = watch_for(scope, keep);
  Watch& watch = watches_.at(id);
  if (watch.kept && watch.subscribers.empty()) idle_.remove(id);
  watch.subscribers.emplace(key, subscriber);
  watch.idle_events = 0;
  return id;
}

Watcher::Id Watcher::watch_for(const WatchScope& scope, bool keep) {
  if (const auto found = kept_.find(scope); keep && found != kept_.end()) return found->second;
  const Id id = ++last_id_;
  Watch& watch = watches_[id];
  watch.scope = scope;
  watch.kept = keep;
  if (keep) kept_.emplace(scope, id);
  if (stream_ > 0) {
    ask(id, watch);
  } else if (!opening_) {
    opening_ = true;
    background_.spawn(open());
  }
  return id;
}

std::optional<Watcher::Start> Watcher::start_of(Id id) const {
  const auto found = watches_.find(id);
  if (found == watches_.end() || !found->second.start) return std::nullopt;
  Start start = *found->second.start;
  start.revision = std::max(start.revision, found->second.last_told);
  return start;
}

void Watcher::ask(Id id, Watch& watch) {
  watch.asked = true;
  cluster_.send(stream_, encode_watch(watch.scope.key, watch.scope.end, id, watch.scope.tell));
}

void Watcher::unsubscribe(Id id, const std::string& key, Subscriber subscriber) {
  const auto found = watches_.find(id);
  if (found == watches_.end()) return;
  Watch& watch = found->second;
  const auto [begin, end] = watch.subscribers.equal_range(key);
  const auto own = std::find_if(begin, end, [&](auto& one) { return one.second == subscriber; });
  HOLDFAST_REQUIRE(own != end);
  watch.subscribers.erase(own);
  if (!watch.subscribers.empty()) return;
  if (!watch.kept) {
    cancel(id);
    return;
  }
  idle_.push_back(id);
  if (idle_.size() > kMaxIdle) cancel(idle_.front());
}

void Watcher::cancel(Id id) {
  const auto found = watches_.find(id);
  HOLDFAST_REQUIRE(found != watches_.end() && found->second.subscribers.empty());
  const bool asked = found->second.asked;
  if (found->second.kept) {
    kept_.erase(found->second.scope);
    idle_.remove(id);
  }
  watches_.erase(found);
  if (asked && stream_ > 0) cluster_.send(stream_, encode_watch_cancel(id));
}

// ---- The stream --------------------------------------------------------------------------------

Task<void> Watcher::open() {
  const Deadline deadline = cluster_.request_deadline();
  const Result<void> opened = co_await cluster_.open(deadline, background_.stop_token());
  if (opened && !watches_.empty()) {
    const auto& [first, watch] = *watches_.begin();
    const Id id = first;
    const std::string request =
        encode_watch(watch.scope.key, watch.scope.end, id, watch.scope.tell);
    const Result<GrpcCallId> stream = co_await cluster_.open_watches(request, *this, deadline);
    if (stream) {
      stream_ = *stream;
      for (auto& [other, unasked] : watches_) {
        if (other == id) {
          unasked.asked = true;
        } else if (!unasked.asked) {
          ask(other, unasked);
        }
      }
      // It may have ended while we were waiting; then there is nothing to watch for it.
      if (!watches_.contains(id)) cluster_.send(stream_, encode_watch_cancel(id));
    }
  }
  opening_ = false;
  if (stream_ <= 0) go_blind();
}

void Watcher::go_blind() {
  std::set<WatchSet*> sets;
  for (const auto& [id, watch] : std::exchange(watches_, {})) {
    for (const auto& [key, subscriber] : watch.subscribers) sets.insert(subscriber.set);
  }
  kept_.clear();
  idle_.clear();
  for (WatchSet* set : sets) set->on_blind();
}

void Watcher::on_stream_message(std::string_view message) {
  const std::optional<WatchAnswer> answer = decode_watch(message);
  if (answer && (!answer->cancelled || watches_.contains(answer->id))) {
    take(*answer);
    return;
  }
  if (answer && answer->id > 0) return;  // We cancelled it.
  // Refused, and it does not say which: the login has expired, or there is no right to this key.
  // The waiters' next requests show what is wrong.
  if (answer) cluster_.forget_login(answer->cancel_reason);
  cluster_.close_stream(stream_);
  stream_ = 0;
  go_blind();
}

void Watcher::take(const WatchAnswer& answer) {
  const auto found = watches_.find(answer.id);
  if (found == watches_.end()) return;
  Watch& watch = found->second;
  if (answer.cancelled) {  // Compacted, for instance.
    std::set<WatchSet*> sets;
    for (const auto& [key, subscriber] : watch.subscribers) sets.insert(subscriber.set);
    watch.asked = false;
    for (WatchSet* set : sets) set->on_blind();
    if (watches_.contains(answer.id)) cancel(answer.id);  // It was kept.
    return;
  }
  if (answer.created) {
    watch.start = Start{answer.header.revision, runtime_.now()};
    for (const auto& [key, subscriber] : watch.subscribers) subscriber.set->on_live(*watch.start);
  }
  for (const WatchEvent& event : answer.events) tell(watch, event);
  if (watch.subscribers.empty() && watch.idle_events > kMaxIdleEvents) cancel(answer.id);
}

void Watcher::tell(Watch& watch, const WatchEvent& event) {
  watch.last_told = std::max(watch.last_told, event.pair.modified);
  if (watch.subscribers.empty()) ++watch.idle_events;
  for (const std::string& key : {event.pair.key, std::string()}) {
    const auto [begin, end] = watch.subscribers.equal_range(key);
    for (auto one = begin; one != end; ++one) one->second.set->on_event(one->second.which, event);
  }
}

void Watcher::on_stream_end(int, const std::string& why) {
  stream_ = 0;
  cluster_.forget_login(why);
  go_blind();
}

// ---- One wait ----------------------------------------------------------------------------------

void WatchSet::add(const std::string& key, const WatchScope& scope, bool keep) {
  const Watcher::Id id = watcher_.subscribe(key, scope, keep, {this, members_.size()});
  members_.push_back(Member{id, key});
  if (const std::optional<Watcher::Start> start = watcher_.start_of(id)) on_live(*start);
}

void WatchSet::clear() {
  const std::vector<Member> members = std::exchange(members_, {});
  for (std::size_t i = 0; i < members.size(); ++i) {
    watcher_.unsubscribe(members[i].watch, members[i].key, {this, i});
  }
  live_ = 0;
  latest_start_ = 0;
  begun_ = {};
  on_time_ = false;
  blind = false;
  events.clear();
  changed.reset();
}

bool WatchSet::may_be_late(BootTime now) const {
  constexpr Duration kCatchUp = std::chrono::milliseconds(120);
  return live() && !on_time_ && now < begun_ + kCatchUp;
}

void WatchSet::on_live(Watcher::Start start) {
  ++live_;
  latest_start_ = std::max(latest_start_, start.revision);
  begun_ = std::max(begun_, start.begun);
  if (live()) changed.set();
}

void WatchSet::on_event(std::size_t which, const WatchEvent& event) {
  events.push_back({which, event});
  changed.set();
}

void WatchSet::on_blind() {
  clear();
  blind = true;
  changed.set();
}

}  // namespace holdfast::internal::etcd
