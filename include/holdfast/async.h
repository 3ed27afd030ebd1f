// Async<T>: a call that has not begun yet. Use it in one of four ways:
//
//   T value = co_await std::move(async);     in any coroutine whose promise does not forbid it. Inside the client's
//                                            own loop (a Task given to Client::run) it costs no thread hop;
//                                            elsewhere the coroutine is resumed on the client's callback thread
//   std::move(async).then([](T value) {…});  the callback runs on the client's callback thread
//   T value = std::move(async).get();        blocks
//   initiate(std::move(async), token)        with Asio's completion tokens: see asio.h. A coroutine of Asio's
//                                            (asio::awaitable) awaits nothing else before Asio 1.23
//
// An Async that is dropped without any of these does nothing.
//
// Every blocking call that asks the engine has such a form, and T is what the blocking call returns: a Result.
// Where it is over at once (an empty lease, a client that was moved from), the callback is called by then() itself.
// An operation that has begun keeps its client alive, also if the Client object is destroyed meanwhile.
//
// There are no senders (std::execution, P2300): they need C++26, and no compiler that we support has them. A sender is
// a few lines over then() and stop().
#pragma once

#include <coroutine>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <system_error>
#include <type_traits>
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
  } catch (const std::bad_alloc&) {
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

// `task`, which has the token of `own`, ends also if `outer` is triggered.
template <class T>
Task<T> linked(Task<T> task, std::stop_token outer, std::stop_source own) {
  const std::stop_callback link(std::move(outer), [&own] { own.request_stop(); });
  co_return co_await std::move(task);
}

// The frame of an asio::awaitable, whichever Asio it is of.
template <class Frame>
concept AsioFrame = requires(Frame& frame) { frame.attach_thread(frame.detach_thread()); };

}  // namespace internal

template <class T>
class Async;

// Only to be refused in a line that can be read.
template <class T, internal::AsioFrame Frame>
std::nullptr_t initiate(Async<T>, Frame*) {
  static_assert(
      sizeof(Frame) == 0,
      "an asio::awaitable cannot await a holdfast::Async as it is. Include holdfast/asio.h (or "
      "holdfast/boost_asio.h) and write: co_await holdfast::initiate(mutex.async_acquire(), "
      "asio::use_awaitable)");
  return nullptr;
}

template <class T>
class [[nodiscard]] Async {
 public:
  using Value = T;

  // `stop` ends this very call: `task` has its token.
  Async(std::shared_ptr<internal::Loop> loop, Task<T> task,
        std::stop_source stop = std::stop_source(std::nostopstate))
      : loop_(std::move(loop)), task_(std::move(task)), stop_(std::move(stop)) {}
  // Over already, without a client.
  explicit Async(T value) : result_(std::move(value)) {}

  // Ends this very call, from any thread, and leaves nothing behind: the outcome is Code::cancelled, unless another
  // one came first. Copy it before the Async is used. stop_possible() is false for calls that wait for nobody: they
  // end by ClientOptions::request_timeout.
  const std::stop_source& stop() const { return stop_; }

  T get() && {
    return loop_ ? internal::run_blocking(*loop_, std::move(task_)) : std::move(*result_);
  }

  // `callback` may be move-only. It is called once, and destroyed, outside the loop. Throws LockError (forked,
  // exhausted) if the call cannot be begun; then it is never called.
  template <class F>
    requires std::is_invocable_v<F, T>
  void then(F callback) && {
    if (!loop_) {
      std::move(callback)(std::move(*result_));
      return;
    }
    auto delivery = std::make_shared<DeliveryTo<F>>(std::move(callback));
    loop_->start(deliver(loop_, std::move(task_), std::move(delivery)));
  }

  // For Asio, to which this is an asynchronous operation once asio.h is included: async(asio::use_future).
  template <class Token>
    requires requires(Async&& self, Token&& token) {
      initiate(std::move(self), std::forward<Token>(token));
    }
  decltype(auto) operator()(Token&& token) && {
    return initiate(std::move(*this), std::forward<Token>(token));
  }

  bool await_ready() const noexcept { return !loop_; }
  bool await_suspend(std::coroutine_handle<> awaiter) {
    if (loop_->inside()) {
      direct_ = true;
      return task_.await_suspend(awaiter);
    }
    try {
      loop_->start(
          resume_elsewhere(loop_, std::move(task_), &result_, awaiter, internal::Loop::current()));
    } catch (const LockError& error) {  // forked, exhausted: it was not begun
      result_.emplace(error.failure());
      return false;
    }
    return true;
  }
  T await_resume() { return direct_ ? task_.await_resume() : std::move(*result_); }

 private:
  // A callback and what it is called with; shared, because call_user() takes what can be copied.
  struct Delivery {
    virtual ~Delivery() = default;
    virtual void call() = 0;
    std::optional<T> value;
  };
  template <class F>
  struct DeliveryTo final : Delivery {
    explicit DeliveryTo(F the_callback) : callback(std::move(the_callback)) {}
    void call() override { std::move(callback)(std::move(*this->value)); }
    F callback;
  };
  static Task<void> deliver(std::shared_ptr<internal::Loop> loop, Task<T> task,
                            std::shared_ptr<Delivery> delivery) {
    delivery->value.emplace(co_await internal::contained(std::move(task)));
    // The last reference: callback and value end on the callback thread.
    loop->call_user([delivery = std::move(delivery)] { delivery->call(); });
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
  std::stop_source stop_{std::nostopstate};
  std::optional<T> result_;
  bool direct_ = false;
};

namespace internal {

// The Async of the task that `begin` makes with a stop_token, which `outer` and Async::stop() trigger.
template <class Begin>
auto stoppable(std::shared_ptr<Loop> loop, std::stop_token outer, const Begin& begin) {
  std::stop_source own;
  auto task = begin(own.get_token());
  if (outer.stop_possible()) task = linked(std::move(task), std::move(outer), own);
  return Async(std::move(loop), std::move(task), std::move(own));
}

}  // namespace internal

}  // namespace holdfast
