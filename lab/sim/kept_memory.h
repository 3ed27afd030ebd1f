// KeptMemory: an allocator for containers whose elements come and go by the million, one at a time:
// their memory is taken from, and given back to, what the thread keeps for coroutine frames.
#pragma once

#include <cstddef>

#include "holdfast/task.h"

namespace holdfast::lab::sim {

template <class T>
struct KeptMemory {
  using value_type = T;

  KeptMemory() = default;
  template <class U>
  KeptMemory(const KeptMemory<U>&) {}  // NOLINT(google-explicit-constructor): as containers want it

  T* allocate(std::size_t count) {
    return static_cast<T*>(internal::allocate_frame(count * sizeof(T)));
  }
  void deallocate(T* place, std::size_t count) noexcept {
    internal::free_frame(place, count * sizeof(T));
  }
  bool operator==(const KeptMemory&) const { return true; }
};

}  // namespace holdfast::lab::sim
