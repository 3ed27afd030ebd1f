// Waking: how claims of this client that stand in a queue learn of their grants. It is for speed: a waiter also
// looks for itself, so a lost wake-up is a delay. Inside the loop only.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engines/table/turn.h"

namespace holdfast::internal::table {

class Waking {
 public:
  virtual ~Waking() = default;

  // Returns when wake-ups are heard. REQUIRED before a claim of this client waits.
  virtual Task<Result<void>> listen(Deadline deadline, std::stop_token stop) = 0;
  // A claim of this client stands in the queue of this key, and is about to wait, for the first time or again.
  virtual void now_waiting(const std::string& /*key*/) {}
  // A claim of this client was granted the lock, and was not told before that grant ended: the connection that
  // listens may be dead without a word. It is replaced, unless it is new.
  virtual void missed_wake() {}
  // How soon a waiter looks for itself: with so many before it, and for so long since that number changed. Only the first
  // waiter of this client for a lock does so, for all of them. Nothing: waiters are woken, and look only to be safe.
  virtual std::optional<Duration> poll_after(std::uint64_t /*ahead*/, Duration /*waited*/) const {
    return std::nullopt;
  }
  virtual void close() = 0;

  // A waiter was granted something. Given nothing: it is not in the queue any more.
  std::function<void(const ClaimId&, std::optional<Given>)> on_wake;
  // Wake-ups may have been lost: all waiters should look.
  std::function<void()> on_deaf;
  // Claims of this client that wait at a key, and have not been told yet.
  struct Awaited {
    ClaimId claim;
    bool alone = true;  // it wants the lock for itself
  };
  std::function<std::vector<Awaited>(const std::string& key)> awaited;
  std::function<bool()> anyone_waits;
};

}  // namespace holdfast::internal::table
