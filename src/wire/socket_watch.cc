#include "wire/socket_watch.h"

#include <asio/posix/stream_descriptor.hpp>

#include "base/real_runtime.h"

namespace holdfast::internal {

// Shared with the completion handlers, which can come after the watch was destroyed.
struct SocketWatch::State {
  State(RealRuntime& the_runtime, int socket)
      : runtime(the_runtime), stream(*the_runtime.io(), socket) {}

  RealRuntime& runtime;
  asio::posix::stream_descriptor stream;
  std::function<void()> on_readable;
  std::function<void()> on_writable;
  bool awaits_writable = false;
  bool ended = false;
};

SocketWatch::SocketWatch(Runtime& runtime, int socket, std::function<void()> on_readable,
                         std::function<void()> on_writable)
    : state_(std::make_shared<State>(static_cast<RealRuntime&>(runtime), socket)) {
  state_->on_readable = std::move(on_readable);
  state_->on_writable = std::move(on_writable);
  state_->runtime.add_watch();
  wait_readable(state_);
}

SocketWatch::~SocketWatch() {
  state_->ended = true;
  state_->on_readable = nullptr;
  state_->on_writable = nullptr;
  state_->runtime.remove_watch();
  state_->stream.release();  // Not close(): it is not ours.
}

void SocketWatch::wait_readable(const std::shared_ptr<State>& state) {
  state->stream.async_wait(
      asio::posix::stream_descriptor::wait_read, [state](std::error_code error) {
        const RealRuntime::Inside inside(state->runtime);
        if (error || state->ended) return;
        const std::function<void()> callback = state->on_readable;  // It may destroy the watch.
        callback();
        if (!state->ended) wait_readable(state);
      });
}

void SocketWatch::await_writable() {
  if (state_->awaits_writable) return;
  state_->awaits_writable = true;
  state_->stream.async_wait(asio::posix::stream_descriptor::wait_write,
                            [state = state_](std::error_code error) {
                              const RealRuntime::Inside inside(state->runtime);
                              state->awaits_writable = false;
                              if (error || state->ended) return;
                              const std::function<void()> callback = state->on_writable;
                              callback();
                            });
}

}  // namespace holdfast::internal
