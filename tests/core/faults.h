// Faults of the operating system, by functions of the C library that this program replaces.
#pragma once

#include <atomic>
#include <chrono>

namespace holdfast::core_tests {

// How many threads may still be started; then pthread_create() fails with EAGAIN, as under pids.max.
// Negative: as many as you like.
extern std::atomic<int> threads_left;

// How long each fsync() and fdatasync() takes.
extern std::atomic<std::chrono::milliseconds> disk_stall;

// Sets a fault for the life of the object.
template <class T>
class During {
 public:
  During(std::atomic<T>& fault, T value) : fault_(fault), before_(fault.exchange(value)) {}
  ~During() { fault_ = before_; }
  During(const During&) = delete;
  During& operator=(const During&) = delete;

 private:
  std::atomic<T>& fault_;
  const T before_;
};

}  // namespace holdfast::core_tests
