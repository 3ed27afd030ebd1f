// Returns: locks on their way back to their engines, for which nobody waits but the end of the daemon.
//
// Copies are the same returns. Thread safe.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <memory>

#include "holdfast/lease.h"

namespace holdfast::cli::serve {

class Returns {
 public:
  // Gives the lock back without waiting for that.
  void add(Lease lease) const;
  // At that moment: whoever was told that it is held until then, and cannot be reached, may count on it.
  void add_at(boost::asio::any_io_executor executor, Lease lease, BootTime moment) const;
  bool all_there() const { return *under_way_ == 0; }

 private:
  std::shared_ptr<std::atomic<std::size_t>> under_way_ =
      std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace holdfast::cli::serve
