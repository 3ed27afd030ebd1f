#include <array>
#include <new>

#include "holdfast/task.h"

namespace holdfast::internal {

namespace {

// Kept frames would hide from the sanitizers that one is used after it was freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kMaxKept = 0;
#else
constexpr std::size_t kMaxKept = 32;  // of each size
#endif

constexpr std::size_t kStep = 64;
constexpr std::size_t kSizes = 32;

constexpr std::size_t shelf_for(std::size_t size) { return (size - 1) / kStep; }

struct Kept {
  Kept* next;
};

struct Shelf {
  Kept* first = nullptr;
  std::size_t count = 0;
};

// Zeroed memory without a constructor: to look at it costs nothing, also on a thread's first time.
struct Shelves {
  std::array<Shelf, kSizes> shelves;
  bool closed;  // the thread ends: nothing is kept any more
};
constinit thread_local Shelves mine{};

struct Closing {
  ~Closing() {
    mine.closed = true;
    for (Shelf& shelf : mine.shelves) {
      while (Kept* kept = shelf.first) {
        shelf.first = kept->next;
        ::operator delete(kept);
      }
    }
  }
};

}  // namespace

void* allocate_frame(std::size_t size) {
  const std::size_t number = shelf_for(size);
  if (number >= kSizes) return ::operator new(size);
  Shelf& shelf = mine.shelves[number];
  if (Kept* kept = shelf.first) {
    shelf.first = kept->next;
    --shelf.count;
    return kept;
  }
  return ::operator new((number + 1) * kStep);
}

void free_frame(void* frame, std::size_t size) noexcept {
  const std::size_t number = shelf_for(size);
  if (number >= kSizes || mine.closed || mine.shelves[number].count >= kMaxKept) {
    ::operator delete(frame);
    return;
  }
  thread_local const Closing closing;
  static_cast<void>(closing);
  Shelf& shelf = mine.shelves[number];
  shelf.first = new (frame) Kept{shelf.first};
  ++shelf.count;
}

}  // namespace holdfast::internal
