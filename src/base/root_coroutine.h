// RootCoroutine: runs a task in a loop, from the first call on; frees itself at its end. An exception ends the process.
#pragma once

#include <coroutine>
#include <exception>

namespace holdfast::internal {

struct RootCoroutine {
  std::coroutine_handle<> handle;

  struct promise_type {
    RootCoroutine get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

}  // namespace holdfast::internal
