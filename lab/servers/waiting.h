// Waiting for what a server does in its own time.
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>

namespace holdfast::test {

// Nobody waits any more.
class WaitStopped : public std::logic_error {
 public:
  WaitStopped() : std::logic_error("told to stop waiting") {}
};

// While it lives, wait_for() on this thread throws WaitStopped as soon as `stop` is triggered: a
// server that takes its time to start does not keep Ctrl-C waiting. With an empty token nothing
// stops it, as in a destructor, which must not throw.
class StopsWaiting {
 public:
  explicit StopsWaiting(std::stop_token stop);
  ~StopsWaiting();
  StopsWaiting(const StopsWaiting&) = delete;
  StopsWaiting& operator=(const StopsWaiting&) = delete;

 private:
  std::stop_token former_;
};

// Returns as soon as the condition is true; throws std::runtime_error, naming what was awaited,
// when it is not within the limit. A condition that throws std::runtime_error counts as not yet
// true (a server that does not answer yet), and its last message is in ours.
void wait_for(const std::string& what, const std::function<bool()>& condition,
              std::chrono::milliseconds limit = std::chrono::seconds(30));

}  // namespace holdfast::test
