// RenewalFeed: tells the guard of every renewal, from inside the client's loop, without blocking. The guard hears
// until when all locks are held; nothing before begin(), since a deadline that only one of them keeps would be
// too late for another.
// Thread safety: all of it.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "held_locks.h"
#include "holdfast/observer.h"
#include "protocol.h"
#include "warning_printer.h"

namespace holdfast::cli {

class RenewalFeed : public WarningPrinter {
 public:
  RenewalFeed(int guard_socket, Duration warn_before)
      : guard_socket_(guard_socket), warn_before_(warn_before) {}

  // From now on the renewals of these are told.
  void begin(const HeldLocks& locks) {
    const std::scoped_lock guard(mutex_);
    for (const Lease& lease : locks.leases()) valid_until_[lease.name()] = lease.valid_until();
  }

  void on_renewed(const Hold& hold, BootTime valid_until) override {
    const std::scoped_lock guard(mutex_);
    failures_.erase(hold.claim.name);
    const auto known = valid_until_.find(hold.claim.name);
    if (known == valid_until_.end()) return;
    known->second = std::max(known->second, valid_until);
    BootTime first = known->second;
    for (const auto& [name, until] : valid_until_) first = std::min(first, until);
    send_message(guard_socket_, ToGuard{.kind = ToGuard::Kind::extend,
                                        .deadlines = deadlines_of(first, warn_before_)});
  }
  void on_renewal_failed(const Hold& hold, const Failure& failure) override {
    const std::scoped_lock guard(mutex_);
    failures_[hold.claim.name] = failure.message();
  }

  // Why the last renewal failed; empty if it did not.
  std::string last_failure(const Name& name) const {
    const std::scoped_lock guard(mutex_);
    const auto failure = failures_.find(name);
    return failure == failures_.end() ? std::string() : failure->second;
  }

 private:
  const int guard_socket_;
  const Duration warn_before_;
  mutable std::mutex mutex_;
  std::map<Name, BootTime> valid_until_;
  std::map<Name, std::string> failures_;
};

}  // namespace holdfast::cli
