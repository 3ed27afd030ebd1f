#include "base/callback_thread.h"

#include <system_error>

#include "base/thread.h"

namespace holdfast::internal {

CallbackThread::CallbackThread() : state_(std::make_shared<State>()) {}

CallbackThread::~CallbackThread() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->wake.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  } else {
    run(state_);
  }
}

bool CallbackThread::call(std::function<void()> callback) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->queue.push_back(std::move(callback));
  }
  state_->wake.notify_one();
  return start();
}

bool CallbackThread::start() {
  const std::lock_guard lock(state_->mutex);
  if (thread_.joinable() || state_->queue.empty()) return true;
  try {
    thread_ = start_thread([state = state_] { run(state); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

bool CallbackThread::on_this_thread() const {
  const std::lock_guard lock(state_->mutex);
  return thread_.get_id() == std::this_thread::get_id();
}

void CallbackThread::run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->wake.wait(lock, [&] { return state->stopping || !state->queue.empty(); });
    if (state->queue.empty()) return;
    {
      const std::function<void()> callback = std::move(state->queue.front());
      state->queue.pop_front();
      lock.unlock();
      callback();
    }  // The callback's captures are destroyed outside the lock, too.
    lock.lock();
  }
}

}  // namespace holdfast::internal
