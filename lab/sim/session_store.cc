#include "lab/sim/session_store.h"

#include <algorithm>

namespace holdfast::lab::sim {

bool SessionStore::touch(std::uint64_t session, Duration ttl) {
  end_sessions();
  if (ended_.contains(session)) return false;
  sessions_[session] = Session{node_.now() + ttl, ttl};
  arm();
  return true;
}

void SessionStore::arm() {
  BootTime first = BootTime::max();
  for (const auto& [id, session] : sessions_) first = std::min(first, session.ends);
  if (first != BootTime::max()) node_.arm(*this, first);
}

void SessionStore::end_sessions() {
  const BootTime now = node_.now();
  std::vector<std::uint64_t> over;
  for (const auto& [id, session] : sessions_) {
    if (now >= session.ends) over.push_back(id);
  }
  std::sort(over.begin(), over.end());  // The same in every run.
  for (const std::uint64_t id : over) {
    ++sessions_ended;
    sessions_.erase(id);
    ended_.insert(id);
    for (std::size_t i = line_.size(); i-- > 0;) {
      if (line_[i].session == id) remove(i);
    }
  }
}

std::size_t SessionStore::index_of(const ClaimId& claim) const {
  const auto found = std::find_if(line_.begin(), line_.end(),
                                  [&](const Waiter& other) { return other.claim == claim; });
  return static_cast<std::size_t>(found - line_.begin());
}

void SessionStore::remove(std::size_t index) {
  if (watcher_) watcher_->on_left(line_[index].claim);
  line_.erase(line_.begin() + static_cast<std::ptrdiff_t>(index));
  if (index < line_.size() && line_[index].push) line_[index].push();
}

SessionStore::Answer SessionStore::acquire(const Ask& ask) {
  if (!touch(ask.session, ask.ttl)) return {Answer::Kind::no_session, Token()};
  std::size_t index = index_of(ask.claim);
  if (index == line_.size()) {
    if (!line_.empty() && !ask.queue) return {Answer::Kind::busy, Token()};
    line_.push_back({ask.claim, ask.session, Token(++transactions_), ask.push});
    index = line_.size() - 1;
  } else {
    line_[index].push = ask.push;
  }
  if (watcher_) index == 0 ? watcher_->on_served(ask.claim) : watcher_->on_waiting(ask.claim);
  return {index == 0 ? Answer::Kind::granted : Answer::Kind::waiting, line_[index].token};
}

bool SessionStore::renew(const ClaimId& claim, Duration ttl, std::uint64_t session) {
  if (!touch(session, ttl)) return false;
  return !line_.empty() && line_.front().claim == claim;
}

bool SessionStore::release(const ClaimId& claim) {
  end_sessions();
  const std::size_t index = index_of(claim);
  if (index == line_.size()) return false;
  remove(index);
  return index == 0;
}

std::optional<ClaimId> SessionStore::holder() {
  end_sessions();
  if (line_.empty()) return std::nullopt;
  return line_.front().claim;
}

void SessionStore::restart() {
  for (Waiter& waiter : line_) waiter.push = nullptr;
}

void SessionStore::change_leader() {
  end_sessions();
  for (auto& [id, session] : sessions_) session.ends = node_.now() + session.ttl;
  restart();
  arm();
}

}  // namespace holdfast::lab::sim
