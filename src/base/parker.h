// Parker: one thread parks, another unparks it. Cheaper than a mutex with a condition variable: the
// woken thread takes no lock. A parker may be destroyed as soon as park() has returned.
#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast::internal {

class Parker {
 public:
  // Blocks until unparked; returns the reason that unpark() was called with. Returns at once if that
  // happened earlier.
  std::uint32_t park();
  // REQUIRES: reason > 0. A higher reason replaces a lower one.
  void unpark(std::uint32_t reason);
  // REQUIRES: nobody can unpark at the same time.
  void reset() { word_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> word_{0};
};

}  // namespace holdfast::internal
