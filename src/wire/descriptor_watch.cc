#include "wire/descriptor_watch.h"

#include <asio/posix/stream_descriptor.hpp>

#include "base/real_runtime.h"

namespace holdfast::internal {

// Shared with the completion handler, which can come after the watch was destroyed.
struct DescriptorWatch::State {
  State(RealRuntime& the_runtime, int descriptor, std::function<void()> callback)
      : runtime(the_runtime),
        stream(*the_runtime.io(), descriptor),
        on_readable(std::move(callback)) {}

  RealRuntime& runtime;
  asio::posix::stream_descriptor stream;
  std::function<void()> on_readable;
  bool ended = false;
};

DescriptorWatch::DescriptorWatch(Runtime& runtime, int descriptor,
                                 std::function<void()> on_readable)
    : state_(std::make_shared<State>(static_cast<RealRuntime&>(runtime), descriptor,
                                     std::move(on_readable))) {
  state_->runtime.add_watch();
  wait(state_);
}

DescriptorWatch::~DescriptorWatch() {
  state_->ended = true;
  state_->on_readable = nullptr;
  state_->runtime.remove_watch();
  std::error_code ignored;
  state_->stream.close(ignored);
}

int DescriptorWatch::descriptor() const { return state_->stream.native_handle(); }

void DescriptorWatch::wait(const std::shared_ptr<State>& state) {
  state->stream.async_wait(
      asio::posix::stream_descriptor::wait_read, [state](std::error_code error) {
        const RealRuntime::Inside inside(state->runtime);
        if (error || state->ended) return;
        const std::function<void()> callback = state->on_readable;  // It may destroy the watch.
        callback();
        if (!state->ended) wait(state);
      });
}

}  // namespace holdfast::internal
