#include "runner.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "process_tree.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

// How long after its deadline the guard may be busy before we take it for hung.
Duration guard_patience(Duration warn_before) { return std::min<Duration>(warn_before / 4, 250ms); }

// How long to wait for processes that do not die of SIGKILL.
constexpr Duration kStubborn = 5s;

// How long the kernel may take to end the next process of a namespace, where others than those
// are our children, too.
constexpr Duration kDying = 500ms;

}  // namespace

sigset_t forwarded_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal :
       {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP}) {
    sigaddset(&signals, signal);
  }
  return signals;
}

Runner::Runner(GuardProcess& guard, const HeldLocks& locks, Duration warn_before,
               const sigset_t& signals, std::vector<pid_t> strangers, bool isolated,
               std::function<void()> on_lost)
    : guard_(guard),
      locks_(locks),
      warn_before_(warn_before),
      strangers_(std::move(strangers)),
      isolated_(isolated),
      on_lost_(std::move(on_lost)) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // Should the guard die, its descendants are ours to end.
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  lost_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (signals_ < 0 || lost_ < 0 || overdue_.descriptor() < 0) {
    throw LockError(Failure(Code::unreachable,
                            "this process may not open more files: raise its limit (ulimit -n)"));
  }
}

Runner::~Runner() {
  close(signals_);
  close(lost_);
}

RunOutcome Runner::run(int liveness) {
  // The callback runs on a thread of the client's; all it may do is to wake us.
  const std::stop_callback wake(locks_.lost(), [this] {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(lost_, &one, sizeof one);
  });
  if (!start(liveness)) return end_without_guard();
  for (;;) {
    pollfd ready[] = {{guard_.socket(), POLLIN, 0},
                      {signals_, POLLIN, 0},
                      {lost_declared_ ? -1 : lost_, POLLIN, 0},
                      {overdue_.descriptor(), POLLIN, 0},
                      {guard_ended_ ? -1 : guard_.handle(), POLLIN, 0}};
    if (poll(ready, 5, -1) < 0) continue;
    // First what the guard says: a command that ended in time has ended in time.
    if (ready[0].revents != 0 || ready[4].revents != 0) {
      if (std::optional<RunOutcome> outcome = on_guard()) return *outcome;
    }
    if (ready[1].revents != 0) on_signals();
    if (ready[2].revents != 0) declare_lost();
    if (ready[4].revents != 0) {
      guard_ended_ = true;
      overdue_.arm(BootClock::now() + guard_patience(warn_before_) / 2);
    }
    if (ready[3].revents != 0) {
      overdue_.clear();
      if (guard_ended_ || guard_.handle() < 0) return end_without_guard();  // The keeper hangs.
      guard_.kill_guard();  // It hangs. The keeper takes over.
    }
  }
}

bool Runner::start(int liveness) {
  const BootTime valid_until = locks_.valid_until();
  const Duration left = valid_until - BootClock::now();
  const auto wall = std::chrono::system_clock::now() + left;
  foreground_ = terminal_.is_interactive();
  ToGuard message{
      .kind = ToGuard::Kind::start,
      .foreground = foreground_,
      // A grant that was handed over is short at first (see RunCommand): leave it half its time.
      .deadlines = deadlines_of(valid_until, std::min(warn_before_, left / 2)),
      .valid_until_ms =
          std::chrono::duration_cast<std::chrono::milliseconds>(wall.time_since_epoch()).count()};
  std::ranges::copy(locks_.tokens(), message.tokens.begin());
  return send_message(guard_.socket(), message, liveness);
}

std::optional<RunOutcome> Runner::on_guard() {
  for (;;) {
    FromGuard message;
    int descriptor = -1;
    switch (receive_message(guard_.socket(), message, &descriptor)) {
      case Received::nothing: return std::nullopt;
      case Received::closed: return end_without_guard();
      case Received::message:
        if (descriptor >= 0) guard_.set_handle(descriptor);
        if (std::optional<RunOutcome> outcome = on_message(message)) return outcome;
    }
  }
}

std::optional<RunOutcome> Runner::on_message(const FromGuard& message) {
  switch (message.kind) {
    case FromGuard::Kind::started:
      command_ = message.pid;
      // It takes the terminal itself, before exec; that we give it too is how we know of it.
      if (foreground_) terminal_.give(command_);
      return std::nullopt;
    case FromGuard::Kind::stopped: on_stopped(message.value); return std::nullopt;
    case FromGuard::Kind::ended: break;
  }
  // The guard goes by itself, while we release the lock.
  terminal_.take_back();
  if (message.too_late) {
    declare_lost();
    return RunOutcome{.how = RunOutcome::How::lost, .status = message.value};
  }
  if (message.start_error.error != 0) {
    return RunOutcome{.how = RunOutcome::How::not_started, .error = message.start_error};
  }
  return RunOutcome{.how = RunOutcome::How::ended, .status = message.value};
}

void Runner::on_stopped(int signal) {
  const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
  if (wants_terminal && terminal_.is_ours()) {
    terminal_.give(command_);
    return send_signal(SIGCONT);
  }
  // Stopped by kill -STOP from elsewhere, or without a terminal: its lock is renewed meanwhile.
  if (!terminal_.exists() || (signal == SIGSTOP && !terminal_.is_given())) return;
  terminal_.take_back();
  Terminal::stop_ourselves(wants_terminal ? signal : SIGTSTP);
  // Continued. While we were stopped nobody renewed the lock; the guard may have ended it all.
  if (terminal_.is_ours()) terminal_.give(command_);
  send_signal(SIGCONT);
}

void Runner::on_signals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD) {
      reap_orphans();
    } else {
      send_signal(static_cast<int>(info.ssi_signo));
    }
  }
}

void Runner::reap_orphans() {
  for (;;) {
    siginfo_t ended{};
    if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return;
    if (ended.si_pid == guard_.keeper()) return;  // Reaped in the end, which is near.
    waitpid(ended.si_pid, nullptr, 0);
  }
}

void Runner::send_signal(int signal) {
  send_message(guard_.socket(), ToGuard{.kind = ToGuard::Kind::signal, .signal = signal});
}

void Runner::declare_lost() {
  if (lost_declared_) return;
  lost_declared_ = true;
  on_lost_();
  send_message(guard_.socket(), ToGuard{.kind = ToGuard::Kind::lost});
  const BootTime kill_at = std::min(deadlines_of(locks_.valid_until(), warn_before_).kill_at,
                                    BootClock::now() + kLostGrace);
  overdue_.arm(kill_at + guard_patience(warn_before_));
}

RunOutcome Runner::end_without_guard() {
  bool all_gone = true;
  if (isolated_) {
    // Without the guard the kernel ends the command. /proc may be a foreign one.
    guard_.kill_guard();
    guard_.end();
    all_gone = reap_descendants();
  } else if ((all_gone = end_descendants())) {
    guard_.end();
  } else {
    guard_.leave();
  }
  terminal_.take_back();
  return RunOutcome{.how = lost_declared_ ? RunOutcome::How::lost : RunOutcome::How::guard_died,
                    .all_gone = all_gone};
}

bool Runner::end_descendants() {
  const BootTime begin = BootClock::now();
  const TreeSignal everybody{.signal = SIGKILL, .except = guard_.keeper(), .spared = strangers_};
  while (signal_descendants(everybody) > 0) {
    if (BootClock::now() - begin > kStubborn) return false;
    usleep(1000);
  }
  return true;
}

bool Runner::reap_descendants() {
  const Duration patience = strangers_.empty() ? kStubborn : kDying;
  BootTime last = BootClock::now();
  for (;;) {
    const pid_t pid = waitpid(-1, nullptr, WNOHANG);
    if (pid < 0) return true;
    if (pid > 0) last = BootClock::now();
    if (BootClock::now() - last > patience) return !strangers_.empty();
    if (pid == 0) usleep(1000);
  }
}

}  // namespace holdfast::cli
