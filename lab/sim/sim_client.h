// SimClient: the shipped client core on a node of a simulated world, which can crash.
#pragma once

#include <functional>
#include <memory>

#include "holdfast/async.h"
#include "lab/sim/sim_runtime.h"
#include "lease/locker.h"

namespace holdfast::lab::sim {

// The loop of a simulated client: all its code is inside.
class SimLoop final : public internal::Loop {
 public:
  explicit SimLoop(internal::SimRuntime& node) : node_(node) {}
  bool inside() const override { return true; }
  void start(Task<void> /*task*/) override { refuse(); }
  void block_on(Task<void> /*task*/) override { refuse(); }
  void call_user(std::function<void()> callback) override { node_.call_user(std::move(callback)); }
  void resume_inside(std::coroutine_handle<> awaiter) override { awaiter.resume(); }

 private:
  [[noreturn]] static void refuse() {
    throw LockError(Failure(Code::would_deadlock, "not in a simulation"));
  }
  internal::SimRuntime& node_;
};

class SimClient {
 public:
  // `plug` connects the engine to the network, or cuts it off.
  SimClient(internal::SimRuntime& node, std::unique_ptr<Engine> engine, ClientOptions options,
            std::function<void(bool)> plug)
      : loop_(node),
        plug_(std::move(plug)),
        locker_(
            std::make_shared<internal::Locker>(node, loop_, std::move(engine), std::move(options))),
        tasks_(node) {
    locker_->set_self(locker_);
  }
  // A crash: everything stops where it is, and nothing is released.
  ~SimClient() {
    crash();
    tasks_.abandon();
    locker_->abandon();
  }
  // From now on nothing leaves this node any more.
  void crash() { set_connected(false); }
  void set_connected(bool connected) { plug_(connected); }

  internal::Locker& locker() { return *locker_; }
  void spawn(Task<void> task) { tasks_.spawn(std::move(task)); }

 private:
  SimLoop loop_;
  std::function<void(bool)> plug_;
  std::shared_ptr<internal::Locker> locker_;
  TaskGroup tasks_;
};

}  // namespace holdfast::lab::sim
