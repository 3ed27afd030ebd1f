// Async<T>: a call that has not begun yet. Use it in one of three ways:
//
//   T value = co_await std::move(async);     in any coroutine. Inside the client's own loop
//                                            (a Task given to Client::run) it costs no thread hop;
//                                            elsewhere the coroutine is resumed on the client's
//                                            callback thread
//   std::move(async).then([](T value) {…});  the callback runs on the client's callback thread
//   T value = std::move(async).get();        blocks
//
// An Async that is dropped without any of these does nothing.
#pragma once

#include <coroutine>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "holdfast/export.h"
#include "holdfast/result.h"
#include "holdfast/task.h"

namespace holdfast {

namespace internal {

// The loop of one client, as the asynchronous and blocking calls need it.
class HOLDFAST_API Loop {
 public:
  virtual ~Loop() = default;
  // True if the calling thread is inside this loop.
  virtual bool inside() const = 0;
  // Starts `task` inside the loop and returns; it may already have ended.
  virtual void start(Task<void> task) = 0;
  // Runs `task` to its end; the calling thread works on the loop meanwhile. Throws LockError
  // (would_deadlock, forked) rather than hang.
  virtual void block_on(Task<void> task) = 0;
  // Runs user code outside the loop.
  virtual void call_user(std::function<void()> callback) = 0;
  // Resumes a coroutine that belongs to this loop; from any thread.
  virtual void resume_inside(std::coroutine_handle<> awaiter) = 0;

  // The loop that the calling thread is inside of, if any.
  static Loop* current();
};

// The exception that is being handled, as the failure of a call: unreachable if the operating system
// refused something (descriptors, threads), else unknown.
HOLDFAST_API Failure current_failure();

template <class T>
Task<void> store(Task<T> task, std::optional<T>* result) {
  result->emplace(co_await std::move(task));
}

// T is a Result: what keeps the call from being made (forked, would_deadlock, no thread or descriptor
// left) is returned in it.
template <class T>
T run_blocking(Loop& loop, Task<T> task) {
  std::optional<T> result;
  try {
    loop.block_on(store(std::move(task), &result));
  } catch (const LockError&) {
    return current_failure();
  } catch (const std::system_error&) {
    return current_failure();
  }
  return std::move(*result);
}

// The same for asynchronous calls, which have nobody to throw an exception at.
template <class T>
Task<T> contained(Task<T> task) {
  try {
    co_return co_await std::move(task);
  } catch (...) {
    co_return current_failure();
  }
}

}  // namespace internal

template <class T>
class [[nodiscard]] Async {
 public:
  Async(std::shared_ptr<internal::Loop> loop, Task<T> task)
      : loop_(std::move(loop)), task_(std::move(task)) {}

  T get() && { return internal::run_blocking(*loop_, std::move(task_)); }

  void then(std::function<void(T)> callback) && {
    loop_->start(deliver(loop_, std::move(task_), std::move(callback)));
  }

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> awaiter) {
    if (loop_->inside()) {
      direct_ = true;
      return task_.await_suspend(awaiter);
    }
    loop_->start(
        resume_elsewhere(loop_, std::move(task_), &result_, awaiter, internal::Loop::current()));
    return true;
  }
  T await_resume() { return direct_ ? task_.await_resume() : std::move(*result_); }

 private:
  static Task<void> deliver(std::shared_ptr<internal::Loop> loop, Task<T> task,
                            std::function<void(T)> callback) {
    auto value = std::make_shared<T>(co_await internal::contained(std::move(task)));
    loop->call_user([callback = std::move(callback), value] { callback(std::move(*value)); });
  }
  // `home`: the loop of another client, to which the awaiter belongs, if it does.
  static Task<void> resume_elsewhere(std::shared_ptr<internal::Loop> loop, Task<T> task,
                                     std::optional<T>* result, std::coroutine_handle<> awaiter,
                                     internal::Loop* home) {
    result->emplace(co_await internal::contained(std::move(task)));
    if (home) {
      home->resume_inside(awaiter);
    } else {
      loop->call_user([awaiter] { awaiter.resume(); });
    }
  }

  std::shared_ptr<internal::Loop> loop_;
  Task<T> task_;
  std::optional<T> result_;
  bool direct_ = false;
};

}  // namespace holdfast
