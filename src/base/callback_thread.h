// CallbackThread: where the user's callbacks run, one after the other, outside the loop, so that
// they may block, lock and call Holdfast. Starts with the first callback. Thread safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace holdfast::internal {

class CallbackThread {
 public:
  CallbackThread();
  // Runs what is queued, on the calling thread if there is no other, then ends the thread.
  ~CallbackThread();

  // False if no thread can be started for it: then it stays queued until start() is true.
  bool call(std::function<void()> callback);
  // Starts the thread if something is queued and there is none. False if that fails.
  bool start();
  bool on_this_thread() const;

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<std::function<void()>> queue;
    bool stopping = false;
  };
  static void run(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace holdfast::internal
