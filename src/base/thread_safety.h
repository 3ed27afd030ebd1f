// Which mutex guards what, in a form that Clang checks: `scripts/check threads`. Other compilers ignore it.
#pragma once

#include <mutex>

#ifdef __clang__
#define HOLDFAST_THREAD_SAFETY(annotation) __attribute__((annotation))
#else
#define HOLDFAST_THREAD_SAFETY(annotation)
#endif

// Of data: touched only with this mutex held.
#define HOLDFAST_GUARDED_BY(mutex) HOLDFAST_THREAD_SAFETY(guarded_by(mutex))
// Of functions: called with the mutex held; without it; takes it; gives it up; checks that it is held.
#define HOLDFAST_NEEDS_LOCK(...) HOLDFAST_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define HOLDFAST_NEEDS_NO_LOCK(...) HOLDFAST_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
#define HOLDFAST_LOCKS(...) HOLDFAST_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define HOLDFAST_UNLOCKS(...) HOLDFAST_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define HOLDFAST_ASSERTS_LOCK(...) HOLDFAST_THREAD_SAFETY(assert_capability(__VA_ARGS__))
// For functions that leave a lock and come back in a way that Clang cannot follow. Say why.
#define HOLDFAST_UNCHECKED_LOCKING HOLDFAST_THREAD_SAFETY(no_thread_safety_analysis)

namespace holdfast::internal {

// std::mutex, as Clang's check knows it.
class HOLDFAST_THREAD_SAFETY(capability("mutex")) CheckedMutex {
 public:
  void lock() HOLDFAST_LOCKS() { mutex_.lock(); }
  void unlock() HOLDFAST_UNLOCKS() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// std::lock_guard, likewise; unlock() and lock() in between.
class HOLDFAST_THREAD_SAFETY(scoped_lockable) CheckedLock {
 public:
  explicit CheckedLock(CheckedMutex& mutex) HOLDFAST_LOCKS(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~CheckedLock() HOLDFAST_UNLOCKS() {
    if (held_) mutex_.unlock();
  }
  CheckedLock(const CheckedLock&) = delete;
  CheckedLock& operator=(const CheckedLock&) = delete;

  void lock() HOLDFAST_LOCKS() {
    mutex_.lock();
    held_ = true;
  }
  void unlock() HOLDFAST_UNLOCKS() {
    held_ = false;
    mutex_.unlock();
  }

 private:
  CheckedMutex& mutex_;
  bool held_ = true;
};

}  // namespace holdfast::internal
