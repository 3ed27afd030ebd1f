#include "wire/duplicate_watch.h"

#include <fcntl.h>

#include <asio/posix/stream_descriptor.hpp>
#include <optional>

#include "base/real_runtime.h"
#include "wire/child_sockets.h"

namespace holdfast::internal {

// Shared with the completion handlers, which can come after the watch was destroyed.
struct DuplicateWatch::State {
  State(RealRuntime& the_runtime, std::function<void()> callback)
      : runtime(the_runtime), stream(*the_runtime.io()), on_readable(std::move(callback)) {}

  RealRuntime& runtime;
  asio::posix::stream_descriptor stream;
  std::optional<ClosedInChild> in_child;
  std::function<void()> on_readable;
  bool ended = false;
};

DuplicateWatch::DuplicateWatch(Runtime& runtime, int descriptor, std::function<void()> on_readable)
    : state_(std::make_shared<State>(static_cast<RealRuntime&>(runtime), std::move(on_readable))) {
  const int duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  state_->runtime.add_watch();
  if (duplicate < 0) return;
  std::error_code error;
  state_->stream.assign(duplicate, error);
  state_->in_child.emplace(duplicate);
  wait(state_);
}

DuplicateWatch::~DuplicateWatch() {
  state_->ended = true;
  state_->on_readable = nullptr;
  state_->runtime.remove_watch();
  state_->in_child.reset();
  std::error_code ignored;
  state_->stream.close(ignored);
}

int DuplicateWatch::descriptor() const {
  return state_->stream.is_open() ? state_->stream.native_handle() : -1;
}

void DuplicateWatch::wait(const std::shared_ptr<State>& state) {
  state->stream.async_wait(
      asio::posix::stream_descriptor::wait_read, [state](std::error_code error) {
        const RealRuntime::Inside inside(state->runtime);
        if (error || state->ended) return;
        const std::function<void()> callback = state->on_readable;  // It may destroy the watch.
        callback();
        if (!state->ended) wait(state);
      });
}

void DuplicateWatch::when_writable(std::function<void()> then) {
  state_->stream.async_wait(asio::posix::stream_descriptor::wait_write,
                            [state = state_, then = std::move(then)](std::error_code error) {
                              const RealRuntime::Inside inside(state->runtime);
                              if (!error && !state->ended) then();
                            });
}

}  // namespace holdfast::internal
