#include <exception>

#include "holdfast/runtime.h"

namespace holdfast {

// The outermost frame of a background task: starts at once and removes itself at its end.
struct TaskGroup::Root {
  using promise_type = RootPromise;
  std::coroutine_handle<RootPromise> handle;
};

struct TaskGroup::RootPromise {
  static void* operator new(std::size_t size) { return internal::allocate_frame(size); }
  static void operator delete(void* frame, std::size_t size) noexcept {
    internal::free_frame(frame, size);
  }

  Root get_return_object() { return {std::coroutine_handle<RootPromise>::from_promise(*this)}; }
  std::suspend_always initial_suspend() noexcept { return {}; }
  std::suspend_never final_suspend() noexcept { return {}; }
  void return_void() {}
  // A background task reports its failures by itself; what escapes is our own bug.
  void unhandled_exception() { std::terminate(); }
};

TaskGroup::TaskGroup(Runtime& runtime) : runtime_(runtime), idle_(runtime_) { idle_.set(); }

TaskGroup::~TaskGroup() { abandon(); }

void TaskGroup::abandon() {
  while (!running_.empty()) {
    const std::coroutine_handle<> handle = running_.front();
    running_.pop_front();
    handle.destroy();
  }
  idle_.set();
}

TaskGroup::Root TaskGroup::run(std::list<std::coroutine_handle<>>::iterator position,
                               Task<void> task) {
  co_await std::move(task);
  running_.erase(position);
  if (running_.empty()) idle_.set();
}

void TaskGroup::spawn(Task<void> task) {
  idle_.reset();
  const auto position = running_.insert(running_.end(), nullptr);
  const Root root = run(position, std::move(task));
  *position = root.handle;
  root.handle.resume();
}

Task<bool> TaskGroup::join(Deadline deadline) {
  co_return co_await idle_.wait(deadline) == Woken::signalled;
}

}  // namespace holdfast
