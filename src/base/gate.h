// Gate: one thread waits, another opens. Cheaper than a mutex with a condition variable: who is
// woken takes no lock. A gate may be destroyed as soon as wait() has returned.
#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast::internal {

class Gate {
 public:
  // Waits until it is open; returns what it was opened with.
  std::uint32_t wait();
  // REQUIRES: reason > 0. A higher reason replaces a lower one.
  void open(std::uint32_t reason);
  // REQUIRES: nobody can open it at the same time.
  void close() { word_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> word_{0};
};

}  // namespace holdfast::internal
