#include "wire/socket_watch.h"

#include <optional>

#include "base/real_runtime.h"

namespace holdfast::internal {

// Kept alive by a callback that is running, which may destroy the watch.
class SocketWatch::State final : public std::enable_shared_from_this<State>,
                                 private Reactor::Handler {
 public:
  State(std::function<void()> on_readable, std::function<void()> on_writable)
      : on_readable_(std::move(on_readable)), on_writable_(std::move(on_writable)) {}

  void begin(Reactor& reactor, int socket) {
    registration_.emplace(reactor, socket, static_cast<Reactor::Handler&>(*this),
                          Reactor::Interest{.read = reads()});
  }
  void await_writable() { registration_->set({.read = reads(), .write = true}); }
  void end() { registration_.reset(); }

 private:
  bool reads() const { return static_cast<bool>(on_readable_); }

  void on_readable() override {
    const auto keep = shared_from_this();
    on_readable_();
  }
  void on_writable() override {
    const auto keep = shared_from_this();
    registration_->set({.read = reads()});
    on_writable_();
  }

  std::function<void()> on_readable_;
  std::function<void()> on_writable_;
  std::optional<Reactor::Registration> registration_;
};

SocketWatch::SocketWatch(Runtime& runtime, int socket, std::function<void()> on_readable,
                         std::function<void()> on_writable)
    : state_(std::make_shared<State>(std::move(on_readable), std::move(on_writable))) {
  state_->begin(static_cast<RealRuntime&>(runtime).reactor(), socket);
}

SocketWatch::~SocketWatch() { state_->end(); }

void SocketWatch::await_writable() { state_->await_writable(); }

}  // namespace holdfast::internal
