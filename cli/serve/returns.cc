#include "serve/returns.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>

namespace holdfast::cli::serve {

void Returns::add(Lease lease) const {
  ++*under_way_;
  try {
    std::move(lease).async_release().then([count = under_way_](const Result<void>&) { --*count; });
  } catch (const LockError&) {  // No thread is to be had: it ends by its ttl.
    --*under_way_;
  }
}

namespace {

// If the daemon ends before the moment, the lock ends by its ttl.
struct Promised {
  explicit Promised(Lease held) : lease(std::move(held)) {}
  Promised(const Promised&) = delete;
  Promised& operator=(const Promised&) = delete;
  ~Promised() { lease.abandon(); }

  Lease lease;
};

}  // namespace

void Returns::add_at(boost::asio::any_io_executor executor, Lease lease, BootTime moment) const {
  auto timer = std::make_shared<boost::asio::steady_timer>(
      std::move(executor), std::max(Duration::zero(), moment - BootClock::now()));
  timer->async_wait([timer, self = *this, promised = std::make_shared<Promised>(std::move(lease))](
                        boost::system::error_code) { self.add(std::move(promised->lease)); });
}

}  // namespace holdfast::cli::serve
