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

void Returns::add_at(boost::asio::any_io_executor executor, Lease lease, BootTime moment) const {
  auto timer = std::make_shared<boost::asio::steady_timer>(
      std::move(executor), std::max(Duration::zero(), moment - BootClock::now()));
  timer->async_wait([timer, self = *this, kept = std::make_shared<Lease>(std::move(lease))](
                        boost::system::error_code) { self.add(std::move(*kept)); });
}

}  // namespace holdfast::cli::serve
