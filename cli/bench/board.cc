#include "board.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace holdfast::cli {
namespace {

template <class T>
std::span<T> construct(char*& place, std::size_t count) {
  T* first = reinterpret_cast<T*>(place);
  for (std::size_t i = 0; i < count; ++i) new (first + i) T();
  place += count * sizeof(T);
  return {first, count};
}

}  // namespace

Board::Board(std::size_t workers, std::size_t names)
    : size_(sizeof(BoardState) + workers * sizeof(WorkerStats) + names * sizeof(NameStamp)) {
  memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory_ == MAP_FAILED) {
    throw LockError(Failure(Code::invalid_argument,
                            "not enough memory: choose fewer workers, processes or names"));
  }
  char* place = static_cast<char*>(memory_);
  state_ = construct<BoardState>(place, 1).data();
  workers_ = construct<WorkerStats>(place, workers);
  names_ = construct<NameStamp>(place, names);
}

Board::~Board() { munmap(memory_, size_); }

void Board::fail(const Failure& failure) {
  if (!state_->failed.exchange(true)) {
    state_->code = failure.code();
    const std::size_t size = std::min(failure.message().size(), sizeof state_->message - 1);
    std::memcpy(state_->message, failure.message().data(), size);
  }
  state_->stop = true;
}

}  // namespace holdfast::cli
