#include "engines/etcd/watcher.h"

#include <algorithm>

#include "base/require.h"

namespace holdfast::internal::etcd {

Watcher::Watcher(Runtime& runtime, Cluster& cluster, Duration request_timeout)
    : runtime_(runtime),
      cluster_(cluster),
      request_timeout_(request_timeout),
      background_(runtime) {}

Watcher::~Watcher() {
  background_.abandon();
  if (stream_ > 0) cluster_.close_stream(stream_);
}

// ---- What the server watches -------------------------------------------------------------------

Watcher::Id Watcher::watch(const std::string& key, const Scope& scope, const Keep& keep,
                           WatchListener& listener, std::size_t which) {
  const Id post = post_for(scope, keep);
  const Id id = ++last_id_;
  watches_.emplace(id, Watch{post, key, &listener, which});
  Post& wanted = posts_.at(post);
  wanted.wanted.emplace(key, id);
  wanted.useless = 0;
  return id;
}

Watcher::Id Watcher::post_for(const Scope& scope, const Keep& keep) {
  const bool kept = !keep.lock.empty();
  if (const auto found = kept_.find(scope); kept && found != kept_.end()) {
    if (posts_.at(found->second).wanted.empty()) idle_.remove(found->second);
    return found->second;
  }
  if (kept) make_room(keep);
  const Id id = ++last_id_;
  Post& post = posts_[id];
  post.scope = scope;
  post.keep = keep;
  if (kept) kept_.emplace(scope, id);
  if (stream_ > 0) {
    ask(id, post);
  } else if (!opening_) {
    opening_ = true;
    background_.spawn(open());
  }
  return id;
}

// Who waits for another key than the last time has no use for that one's watch: so there are never
// more than waits at the same time.
void Watcher::make_room(const Keep& keep) {
  if (keep.patience > 0) return;
  for (const Id id : idle_) {
    const Keep& other = posts_.at(id).keep;
    if (other.lock != keep.lock || other.patience > 0) continue;
    cancel(id);
    return;
  }
}

std::optional<Watcher::Since> Watcher::since(Id id) const {
  const Watch& watch = watches_.at(id);
  const Post& post = posts_.at(watch.post);
  if (!post.since) return std::nullopt;
  // What came before anybody wanted to hear it was told to nobody.
  const auto latest = post.latest.find(watch.key);
  Since since = *post.since;
  if (latest != post.latest.end()) since.revision = std::max(since.revision, latest->second);
  return since;
}

void Watcher::ask(Id id, Post& post) {
  post.asked = true;
  cluster_.send(stream_, encode_watch(post.scope.key, post.scope.end, id, post.scope.tell));
}

void Watcher::end(Id id) {
  const auto found = watches_.find(id);
  if (found == watches_.end()) return;
  const Watch watch = std::move(found->second);
  watches_.erase(found);
  Post& post = posts_.at(watch.post);
  const auto [begin, past] = post.wanted.equal_range(watch.key);
  post.wanted.erase(std::find_if(begin, past, [&](const auto& one) { return one.second == id; }));
  if (!post.wanted.empty()) return;
  if (post.keep.lock.empty()) {
    cancel(watch.post);
    return;
  }
  idle_.push_back(watch.post);
  if (idle_.size() > kMostIdle) cancel(idle_.front());
}

// REQUIRES: nobody needs it.
void Watcher::cancel(Id post) {
  const auto found = posts_.find(post);
  HOLDFAST_REQUIRE(found != posts_.end());
  const bool asked = found->second.asked;
  if (!found->second.keep.lock.empty()) {
    kept_.erase(found->second.scope);
    idle_.remove(post);
  }
  posts_.erase(found);
  if (asked && stream_ > 0) cluster_.send(stream_, encode_watch_cancel(post));
}

// ---- The stream --------------------------------------------------------------------------------

Task<void> Watcher::open() {
  const Deadline deadline = Deadline::at(runtime_.now() + request_timeout_);
  const Result<void> opened = co_await cluster_.open(deadline, background_.stop_token());
  if (opened && !posts_.empty()) {
    const auto& [first_id, first] = *posts_.begin();
    const Id id = first_id;
    const std::string request =
        encode_watch(first.scope.key, first.scope.end, id, first.scope.tell);
    const Result<GrpcCallId> stream = co_await cluster_.open_watches(request, *this, deadline);
    if (stream) {
      stream_ = *stream;
      for (auto& [other, post] : posts_) {
        if (other == id) {
          post.asked = true;
        } else if (!post.asked) {
          ask(other, post);
        }
      }
      // It may have ended while we were waiting; then there is nothing to watch for it.
      if (!posts_.contains(id)) cluster_.send(stream_, encode_watch_cancel(id));
    }
  }
  opening_ = false;
  if (stream_ <= 0) go_blind();
}

void Watcher::go_blind() {
  std::vector<WatchListener*> listeners;
  for (const auto& [id, watch] : watches_) listeners.push_back(watch.listener);
  watches_.clear();
  posts_.clear();
  kept_.clear();
  idle_.clear();
  std::sort(listeners.begin(), listeners.end());
  listeners.erase(std::unique(listeners.begin(), listeners.end()), listeners.end());
  for (WatchListener* listener : listeners) listener->on_blind();
}

void Watcher::on_stream_message(std::string_view message) {
  const std::optional<WatchAnswer> answer = decode_watch(message);
  if (answer && (!answer->cancelled || posts_.contains(answer->id))) {
    take(*answer);
    return;
  }
  if (answer && answer->id > 0) return;  // Cancelled, as we wished.
  // Refused, and it does not say which: the login has expired, or there is no right to this key.
  // Whoever waits asks again, and hears what is wrong.
  if (answer) cluster_.forget_login(answer->cancel_reason);
  cluster_.close_stream(stream_);
  stream_ = 0;
  go_blind();
}

void Watcher::take(const WatchAnswer& answer) {
  const auto found = posts_.find(answer.id);
  if (found == posts_.end()) return;
  Post& post = found->second;
  if (answer.cancelled) {  // Compacted, for instance.
    post.asked = false;
    std::vector<WatchListener*> listeners;
    for (const auto& [key, id] : post.wanted) listeners.push_back(watches_.at(id).listener);
    if (listeners.empty()) cancel(answer.id);
    for (WatchListener* const listener : listeners) {
      std::vector<Id> ended;
      for (const auto& [id, watch] : watches_) {
        if (watch.listener == listener) ended.push_back(id);
      }
      for (const Id id : ended) end(id);
      if (!ended.empty()) listener->on_blind();
    }
    // Nobody needs it any more; nobody shall find it either.
    if (posts_.contains(answer.id)) cancel(answer.id);
    return;
  }
  if (answer.created) {
    post.since = Since{answer.header.revision, runtime_.now()};
    for (const auto& [key, id] : post.wanted) {
      const Watch& watch = watches_.at(id);
      watch.listener->on_watching(watch.which, post.since->revision, post.since->begun);
    }
  }
  for (const WatchEvent& event : answer.events) tell(post, event);
  if (post.wanted.empty() && post.useless > post.keep.patience) cancel(answer.id);
}

void Watcher::tell(Post& post, const WatchEvent& event) {
  if (!post.keep.lock.empty()) {
    Revision& latest = post.latest[event.pair.key];
    latest = std::max(latest, event.pair.modified);
  }
  if (post.wanted.empty()) ++post.useless;
  for (const std::string& key : {event.pair.key, std::string()}) {
    const auto [begin, end] = post.wanted.equal_range(key);
    for (auto one = begin; one != end; ++one) {
      const Watch& watch = watches_.at(one->second);
      watch.listener->on_event(watch.which, event);
    }
  }
}

void Watcher::on_stream_end(int, const std::string& why) {
  stream_ = 0;
  cluster_.forget_login(why);
  go_blind();
}

// ---- Vigil -------------------------------------------------------------------------------------

void Vigil::watch(const std::string& key, const Scope& scope, const Keep& keep) {
  const std::size_t which = ids_.size();
  ids_.push_back(watcher_.watch(key, scope, keep, *this, which));
  const std::optional<Watcher::Since> since = watcher_.since(ids_.back());
  if (since) on_watching(which, since->revision, since->begun);
}

void Vigil::clear() {
  for (const Watcher::Id id : std::exchange(ids_, {})) watcher_.end(id);
  watching_ = 0;
  latest_start_ = 0;
  begun_ = {};
  proven_ = false;
  blind = false;
  events.clear();
  told.reset();
}

bool Vigil::watching_since(Revision revision) const {
  return all_watching() && latest_start_ <= revision;
}

bool Vigil::may_be_late(BootTime now) const {
  constexpr Duration kCatchUp = std::chrono::milliseconds(120);
  return all_watching() && !proven_ && now < begun_ + kCatchUp;
}

void Vigil::on_watching(std::size_t, Revision revision, BootTime begun) {
  ++watching_;
  latest_start_ = std::max(latest_start_, revision);
  begun_ = std::max(begun_, begun);
  if (all_watching()) told.set();
}

void Vigil::on_event(std::size_t which, const WatchEvent& event) {
  events.push_back({which, event});
  told.set();
}

void Vigil::on_blind() {
  blind = true;
  ids_.clear();
  watching_ = 0;
  told.set();
}

}  // namespace holdfast::internal::etcd
