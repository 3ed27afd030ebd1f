// Flight: many coroutines at once on one client's loop and one thread.
#pragma once

#include <holdfast/holdfast.h>

#include <coroutine>
#include <exception>
#include <functional>
#include <utility>

namespace holdfast::bench {

class Flight {
 public:
  // Runs worker(0), worker(1) … worker(count - 1) at the same time, to the end of all of them.
  // Throws what one of them threw.
  // `loop` is a Client, or what else has run(Task<void>) like it.
  template <class Loop>
  static void run(Loop& loop, int count, const std::function<Task<void>(int)>& worker) {
    Flight flight(count);
    loop.run(flight.all(worker));
    if (flight.error_) std::rethrow_exception(flight.error_);
  }

 private:
  explicit Flight(int count) : count_(count), left_(count) {}

  // A coroutine that nobody waits for: it starts at once and frees itself.
  struct Detached {
    struct promise_type {
      Detached get_return_object() { return {}; }
      std::suspend_never initial_suspend() noexcept { return {}; }
      std::suspend_never final_suspend() noexcept { return {}; }
      void return_void() {}
      void unhandled_exception() { std::terminate(); }
    };
  };

  Detached start(Task<void> task) {
    try {
      co_await std::move(task);
    } catch (...) {
      error_ = std::current_exception();
    }
    if (--left_ == 0 && waiting_) std::exchange(waiting_, nullptr).resume();
  }

  Task<void> all(const std::function<Task<void>(int)>& worker) {
    for (int i = 0; i < count_; ++i) start(worker(i));
    struct AllDone {
      Flight& flight;
      bool await_ready() const { return flight.left_ == 0; }
      void await_suspend(std::coroutine_handle<> self) { flight.waiting_ = self; }
      void await_resume() const {}
    };
    co_await AllDone{*this};
  }

  int count_;
  int left_;
  std::coroutine_handle<> waiting_;
  std::exception_ptr error_;
};

}  // namespace holdfast::bench
