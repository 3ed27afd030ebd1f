// The runner: holds the locks, has the guard run the command, passes signals on and minds the
// terminal, until the command has ended or a lock is lost. See guard.h for what can go wrong.
// Thread safety: one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "guard.h"
#include "held_locks.h"
#include "protocol.h"
#include "terminal.h"
#include "timer.h"

namespace holdfast::cli {

// The signals that `run` passes on to the command.
sigset_t forwarded_signals();

struct RunOutcome {
  enum class How {
    ended,        // by itself: `status` is its wait status
    not_started,  // `error` says why
    lost,         // ended, or not started, because a lock was lost
    guard_died,   // ended because nobody could have ended it in time
  };
  How how{};
  int status = 0;
  StartError error;
  bool all_gone = true;  // false: some process could not be killed
};

class Runner {
 public:
  // `strangers` are children that we had before the guard: not ours to end. `on_lost` is called
  // once, before the command has ended. `signals` must be blocked; they are passed on, SIGCHLD excepted.
  Runner(GuardProcess& guard, const HeldLocks& locks, Duration warn_before, const sigset_t& signals,
         std::vector<pid_t> strangers, bool isolated, std::function<void()> on_lost);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // `liveness` is Client::liveness_descriptor().
  RunOutcome run(int liveness);

 private:
  bool start(int liveness);
  std::optional<RunOutcome> on_guard();
  std::optional<RunOutcome> on_message(const FromGuard& message);
  void on_stopped(int signal);
  void on_signals();
  void declare_lost();
  void send_signal(int signal);
  // As the first process of a container we get orphans that are not of the command, such as those of
  // `podman exec`; nobody else can reap them.
  void reap_orphans();
  RunOutcome end_without_guard();
  // Kills everything below us but the keeper, again and again. False if some process survives.
  bool end_descendants();
  // Waits for what the kernel is killing. False if it takes too long.
  bool reap_descendants();

  GuardProcess& guard_;
  const HeldLocks& locks_;
  const Duration warn_before_;
  const std::vector<pid_t> strangers_;
  const bool isolated_;
  const std::function<void()> on_lost_;
  int signals_ = -1;   // signalfd
  int lost_ = -1;      // eventfd, written when a lock is lost
  BootTimer overdue_;  // the guard should have been done by then
  Terminal terminal_;
  pid_t command_ = -1;
  bool foreground_ = false;  // the command has the terminal from the start
  bool lost_declared_ = false;
  bool guard_ended_ = false;  // without a word: the keeper is at work
};

}  // namespace holdfast::cli
