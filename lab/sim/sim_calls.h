// SimCalls: how a simulated client asks a server: a question that runs on the server's node, an
// answer that comes back; both can be late, lost or doubled. One that gets no answer is unknown.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "holdfast/engine.h"
#include "lab/sim/sim_network.h"

namespace holdfast::lab::sim {

class SimCalls {
 public:
  SimCalls(internal::SimRuntime& node, SimNetwork& network, Duration patience)
      : node_(node),
        network_(network),
        patience_(patience),
        self_(std::make_shared<SimCalls*>(this)) {}
  ~SimCalls() { *self_ = nullptr; }
  SimCalls(const SimCalls&) = delete;
  SimCalls& operator=(const SimCalls&) = delete;

  // Whether what it sends arrives, and what is sent to it.
  void set_connected(bool sends, bool hears) {
    sends_ = sends;
    hears_ = hears;
  }

  // The server's answer, and when the question left.
  template <class T>
  struct Reply {
    T answer;
    BootTime sent_at;
  };
  // Runs `question` on the server's node and brings its answer back; without one, the server is
  // down.
  template <class T>
  Task<Result<Reply<T>>> call(internal::SimRuntime& server,
                              std::function<std::optional<T>()> question, Deadline deadline) {
    const BootTime sent_at = node_.now();
    const std::uint64_t id = next_call_++;
    Event answered(node_);
    std::optional<T> answer;
    calls_[id] = [&](std::any value) {
      if (!answer) answer = std::any_cast<T>(std::move(value));
      answered.set();
    };
    const auto ask = [self = self_, question = std::move(question), id] {
      const std::optional<T> value = question();
      // The asker may have crashed; the server did its work all the same.
      if (value && *self) (*self)->answer(id, *value);
    };
    if (sends_) network_.send(server, ask);
    const Deadline patience = deadline.sooner(sent_at + patience_);
    co_await answered.wait(patience);
    calls_.erase(id);
    if (!answer) co_return Failure(Code::unknown, "no answer from the simulated server");
    Reply<T> reply{*answer, sent_at};
    co_return reply;
  }

  // A message from a server to this client, which may be gone by then.
  std::function<void()> push(std::function<void()> message) {
    return [self = self_, message = std::move(message)] {
      if (!*self || !(*self)->hears_) return;
      (*self)->network_.send((*self)->node_, [self, message] {
        if (*self) message();
      });
    };
  }

 private:
  void answer(std::uint64_t id, std::any value) {
    if (!hears_) return;
    network_.send(node_, [self = self_, id, value = std::move(value)] {
      if (!*self) return;
      const auto found = (*self)->calls_.find(id);
      if (found != (*self)->calls_.end()) found->second(value);
    });
  }

  internal::SimRuntime& node_;
  SimNetwork& network_;
  Duration patience_;
  bool sends_ = true;
  bool hears_ = true;
  // Where answers go; they find nothing there once the call is over.
  std::uint64_t next_call_ = 0;
  std::unordered_map<std::uint64_t, std::function<void(std::any)>> calls_;
  // Lets a message that arrives after our end do nothing.
  std::shared_ptr<SimCalls*> self_;
};

}  // namespace holdfast::lab::sim
