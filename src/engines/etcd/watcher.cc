#include "engines/etcd/watcher.h"

#include <algorithm>

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

Watcher::Id Watcher::watch(const std::string& key, const std::string& end, Tell tell,
                           WatchListener& listener, std::size_t which) {
  const Id id = ++last_id_;
  Watch& watch = watches_.emplace(id, Watch{key, end, tell, &listener, which}).first->second;
  if (stream_ > 0) {
    ask(id, watch);
  } else if (!opening_) {
    opening_ = true;
    background_.spawn(open());
  }
  return id;
}

void Watcher::ask(Id id, Watch& watch) {
  watch.asked = true;
  cluster_.send(stream_, encode_watch(watch.key, watch.end, id, watch.tell));
}

void Watcher::end(Id id) {
  const auto found = watches_.find(id);
  if (found == watches_.end()) return;
  const bool asked = found->second.asked;
  watches_.erase(found);
  if (asked && stream_ > 0) cluster_.send(stream_, encode_watch_cancel(id));
}

Task<void> Watcher::open() {
  const Deadline deadline = Deadline::at(runtime_.now() + request_timeout_);
  const Result<void> opened = co_await cluster_.open(deadline, background_.stop_token());
  if (opened && !watches_.empty()) {
    auto& [id, first] = *watches_.begin();
    const std::string request = encode_watch(first.key, first.end, id, first.tell);
    const Id first_id = id;
    const Result<GrpcCallId> stream = co_await cluster_.open_watches(request, *this, deadline);
    if (stream) {
      stream_ = *stream;
      for (auto& [other, watch] : watches_) {
        if (other == first_id) {
          watch.asked = true;
        } else if (!watch.asked) {
          ask(other, watch);
        }
      }
      // It may have ended while we were waiting; then there is nothing to watch for it.
      if (!watches_.contains(first_id)) cluster_.send(stream_, encode_watch_cancel(first_id));
    }
  }
  opening_ = false;
  if (stream_ <= 0) go_blind();
}

void Watcher::go_blind() {
  std::vector<WatchListener*> listeners;
  for (const auto& [id, watch] : watches_) listeners.push_back(watch.listener);
  watches_.clear();
  std::sort(listeners.begin(), listeners.end());
  listeners.erase(std::unique(listeners.begin(), listeners.end()), listeners.end());
  for (WatchListener* listener : listeners) listener->on_blind();
}

void Watcher::on_stream_message(std::string_view message) {
  const std::optional<WatchAnswer> answer = decode_watch(message);
  if (answer && (!answer->cancelled || watches_.contains(answer->id))) {
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
  const auto found = watches_.find(answer.id);
  if (found == watches_.end()) return;
  const Watch watch = found->second;
  if (answer.cancelled) {  // Compacted, for instance.
    WatchListener* const listener = watch.listener;
    std::erase_if(watches_, [&](const auto& other) { return other.second.listener == listener; });
    listener->on_blind();
    return;
  }
  if (answer.created) watch.listener->on_watching(watch.which, answer.header.revision);
  for (const WatchEvent& event : answer.events) watch.listener->on_event(watch.which, event);
}

void Watcher::on_stream_end(int, const std::string& why) {
  stream_ = 0;
  cluster_.forget_login(why);
  go_blind();
}

// ---- Vigil -------------------------------------------------------------------------------------

void Vigil::watch(const std::string& key, const std::string& end, Tell tell) {
  ids_.push_back(watcher_.watch(key, end, tell, *this, ids_.size()));
}

void Vigil::clear() {
  for (const Watcher::Id id : std::exchange(ids_, {})) watcher_.end(id);
  watching_ = 0;
  latest_start_ = 0;
  blind = false;
  events.clear();
  told.reset();
}

bool Vigil::watching_since(Revision revision) const {
  return all_watching() && latest_start_ <= revision;
}

void Vigil::on_watching(std::size_t, Revision revision) {
  ++watching_;
  latest_start_ = std::max(latest_start_, revision);
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
