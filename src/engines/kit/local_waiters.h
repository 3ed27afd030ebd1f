// LocalWaiters: this client's waiting claims, per lock, in order of arrival. For stores that do not notify, where
// somebody has to poll: only the first of a lock's waiters polls, and it is told at once when this client itself
// releases the lock. Inside the loop only.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "holdfast/engine.h"

namespace holdfast::internal {

class LocalWaiters {
 public:
  class Waiter;

  bool empty(const std::string& key) const { return !locks_.contains(key); }
  // This client released the lock: the first waiter may try.
  void wake(const std::string& key);
  // Ends the wait of a claim. False if it is not waiting.
  bool end(const std::string& key, const ClaimId& claim);

 private:
  struct Lock {
    std::list<Waiter*> waiting;  // never empty
    Busy seen;                   // the holder when last looked at
  };
  std::unordered_map<std::string, Lock> locks_;
};

// Queued last among this client's waiters for a lock, until destroyed.
class LocalWaiters::Waiter {
 public:
  Waiter(LocalWaiters& waiters, Runtime& runtime, std::string key, const ClaimId& claim)
      : told(runtime), waiters_(waiters), key_(std::move(key)), claim_(claim) {
    std::list<Waiter*>& waiting = lock().waiting;
    at_ = waiting.insert(waiting.end(), this);
  }
  ~Waiter() {
    std::list<Waiter*>& waiting = lock().waiting;
    const bool was_first = first();
    waiting.erase(at_);
    if (waiting.empty()) {
      waiters_.locks_.erase(key_);
    } else if (was_first) {
      waiting.front()->told.set();
    }
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  bool first() { return lock().waiting.front() == this; }
  bool ended() const { return ended_; }
  // Whether wake() was called since this was last asked.
  bool released() { return std::exchange(released_, false); }
  Busy& seen() { return lock().seen; }

  Event told;  // it is first now, or has another reason to look

 private:
  friend class LocalWaiters;
  Lock& lock() { return waiters_.locks_[key_]; }

  LocalWaiters& waiters_;
  std::string key_;
  ClaimId claim_;
  std::list<Waiter*>::iterator at_;
  bool ended_ = false;
  bool released_ = false;
};

inline void LocalWaiters::wake(const std::string& key) {
  const auto found = locks_.find(key);
  if (found == locks_.end()) return;
  Waiter& first = *found->second.waiting.front();
  first.released_ = true;
  first.told.set();
}

inline bool LocalWaiters::end(const std::string& key, const ClaimId& claim) {
  const auto found = locks_.find(key);
  if (found == locks_.end()) return false;
  for (Waiter* waiter : found->second.waiting) {
    if (waiter->claim_ != claim) continue;
    waiter->ended_ = true;
    waiter->told.set();
    return true;
  }
  return false;
}

}  // namespace holdfast::internal
