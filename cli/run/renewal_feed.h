// RenewalFeed: tells the guard of every renewal, from inside the client's loop, without blocking.
// Thread safety: all of it.
#pragma once

#include <mutex>
#include <string>

#include "holdfast/observer.h"
#include "protocol.h"
#include "warning_printer.h"

namespace holdfast::cli {

class RenewalFeed : public WarningPrinter {
 public:
  RenewalFeed(int guard_socket, Duration warn_before)
      : guard_socket_(guard_socket), warn_before_(warn_before) {}

  void on_renewed(const Hold&, BootTime valid_until) override {
    const ToGuard extension{.kind = ToGuard::Kind::extend,
                            .deadlines = deadlines_of(valid_until, warn_before_)};
    send_message(guard_socket_, extension);
    remember({});
  }
  void on_renewal_failed(const Hold&, const Failure& failure) override {
    remember(failure.message());
  }

  // Why the last renewal failed; empty if it did not.
  std::string last_failure() const {
    const std::scoped_lock guard(mutex_);
    return last_failure_;
  }

 private:
  void remember(std::string failure) {
    const std::scoped_lock guard(mutex_);
    last_failure_ = std::move(failure);
  }

  const int guard_socket_;
  const Duration warn_before_;
  mutable std::mutex mutex_;
  std::string last_failure_;
};

}  // namespace holdfast::cli
