// Task<T>: a lazy coroutine. It starts when it is awaited (or given to a TaskGroup), runs on the
// loop of one client (see runtime.h) and is never resumed concurrently.
//
//   Task<Result<Grant>> acquire(...) { auto reply = co_await wire.call(...); co_return ...; }
//
// Awaiting a task that finishes without suspending costs no suspension of the awaiter and no
// stack: a loop of a million such awaits is a plain loop, in debug builds too. (Symmetric
// transfer would grow the stack wherever the compiler does not turn it into a jump.)
//
// Destroying a Task that is suspended destroys its frame and, with it, everything that it awaits.
// GCC 12 rejects a braced list inside a co_await expression, and miscompiles `switch (co_await …)`:
// hoist both to a local.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "holdfast/export.h"

namespace holdfast {

template <class T = void>
class [[nodiscard]] Task;

namespace internal {

// Memory for coroutine frames. An acquire and its release need some thirty of them, of the same few
// sizes each time: each thread keeps a few of those that it freed last.
HOLDFAST_API void* allocate_frame(std::size_t size);
HOLDFAST_API void free_frame(void* frame, std::size_t size) noexcept;

class PromiseBase {
 public:
  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* frame, std::size_t size) noexcept { free_frame(frame, size); }

  std::suspend_always initial_suspend() noexcept { return {}; }

  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> self) noexcept {
      PromiseBase& promise = self.promise();
      promise.done_ = true;
      // While the awaiter is still inside start(), it sees done() when start() returns.
      if (!promise.starting_ && promise.awaiter_) promise.awaiter_.resume();
    }
    void await_resume() noexcept {}
  };
  FinalAwaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() { error_ = std::current_exception(); }

 protected:
  template <class>
  friend class holdfast::Task;

  std::coroutine_handle<> awaiter_;
  std::exception_ptr error_;
  bool starting_ = false;
  bool done_ = false;
};

template <class T>
class Promise : public PromiseBase {
 public:
  Task<T> get_return_object();
  template <class U>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  T take() {
    if (error_) std::rethrow_exception(error_);
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class Promise<void> : public PromiseBase {
 public:
  Task<void> get_return_object();
  void return_void() {}
  void take() {
    if (error_) std::rethrow_exception(error_);
  }
};

}  // namespace internal

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = internal::Promise<T>;

  Task() = default;
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Awaiting: starts the task, resumes the awaiter when it is done.
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> awaiter) {
    promise_type& promise = handle_.promise();
    promise.awaiter_ = awaiter;
    promise.starting_ = true;
    handle_.resume();
    promise.starting_ = false;
    return !promise.done_;
  }
  T await_resume() { return handle_.promise().take(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

namespace internal {

template <class T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}

inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace internal
}  // namespace holdfast
