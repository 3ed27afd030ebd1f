#include "guard.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "holdfast/result.h"
#include "isolation.h"
#include "keeper.h"
#include "process_tree.h"
#include "protocol.h"
#include "timer.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

// How long guard and keeper may take to go when there is nothing left to do.
constexpr Duration kPatience = 1s;

// Sent by the kernel when the keeper dies.
constexpr int kKeeperDied = SIGUSR1;

class Guard {
 public:
  Guard(int runner, Command command, pid_t keeper)
      : runner_(runner), keeper_(keeper), command_(std::move(command)) {}

  [[noreturn]] void serve();

 private:
  void prepare();
  void on_runner();
  void handle(const ToGuard& message, int descriptor);
  void start(const ToGuard& message, int descriptor);
  void extend(const Deadlines& deadlines);
  void on_time();
  void begin_end();
  void ask_everybody_to_end();
  void on_signals();
  void reap();
  void read_exec_report();
  void signal_group(int signal);
  void end_everything();
  [[noreturn]] void finish();

  int runner_;
  const pid_t keeper_;
  Command command_;
  int signals_ = -1;  // signalfd: a child ended, or the keeper did
  BootTimer timer_;
  Deadlines deadlines_{};
  Child child_;
  std::optional<int> status_;  // the command's, once reaped
  pid_t init_ = 0;             // of the namespace, if the command is isolated
  StartError start_error_;
  bool ending_ = false;  // SIGTERM was sent; there is no way back
};

void Guard::serve() {
  prepare();
  for (;;) {
    pollfd ready[] = {{timer_.descriptor(), POLLIN, 0},
                      {runner_, POLLIN, 0},
                      {signals_, POLLIN, 0},
                      {child_.report, POLLIN, 0}};
    if (poll(ready, 4, -1) < 0) continue;
    if (ready[3].revents != 0) read_exec_report();
    if (ready[2].revents != 0) on_signals();
    if (ready[0].revents != 0) on_time();
    if (ready[1].revents != 0) on_runner();
  }
}

void Guard::prepare() {
  setpgid(0, 0);
  prctl(PR_SET_NAME, "holdfast-guard");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (command_.isolate) start_error_ = {enter_isolation(), true};
  prctl(PR_SET_PDEATHSIG, kKeeperDied);  // After it: new rights may clear the setting.
  // All signals are blocked, by the keeper.
  sigset_t heard;
  sigemptyset(&heard);
  sigaddset(&heard, SIGCHLD);
  sigaddset(&heard, kKeeperDied);
  signals_ = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
  // Without these there is no guard: the runner sees us gone and does not start the command.
  if (signals_ < 0 || timer_.descriptor() < 0 || getppid() != keeper_) _exit(1);
}

void Guard::on_runner() {
  for (;;) {
    ToGuard message;
    int descriptor = -1;
    switch (receive_message(runner_, message, &descriptor)) {
      case Received::nothing: return;
      case Received::message: handle(message, descriptor); break;
      case Received::closed:  // The runner is dead, or gave up before it had the lock.
        end_everything();
        _exit(0);
    }
  }
}

void Guard::handle(const ToGuard& message, int descriptor) {
  switch (message.kind) {
    case ToGuard::Kind::start: return start(message, descriptor);
    case ToGuard::Kind::extend: return extend(message.deadlines);
    case ToGuard::Kind::signal: return signal_group(message.signal);
    case ToGuard::Kind::lost:
      deadlines_.kill_at = std::min(deadlines_.kill_at, BootClock::now() + kLostGrace);
      return begin_end();
  }
}

void Guard::start(const ToGuard& message, int descriptor) {
  extend(message.deadlines);
  if (ending_ || BootClock::now() >= deadlines_.term_at) {
    ending_ = true;
    finish();
  }
  if (command_.isolate && start_error_.error == 0) {
    init_ = start_init();
    if (init_ < 0) start_error_.error = errno;
  }
  if (start_error_.error != 0) finish();
  forget_lock_variables();
  command_.variables = lock_variables(command_.locks, message.tokens);
  command_.variables.push_back("HOLDFAST_VALID_UNTIL_MS=" + std::to_string(message.valid_until_ms));
  // We keep our own copy of the descriptor open until we exit: see 1.
  child_ = start_child(command_, descriptor, message.foreground);
  if (child_.pid < 0) {
    start_error_ = {errno, false};
    end_everything();
    finish();
  }
  // With a handle on ourselves: the runner is not our parent, and our number may be reused.
  const int self = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
  send_message(runner_, FromGuard{.kind = FromGuard::Kind::started, .pid = child_.pid}, self);
  if (self >= 0) close(self);
}

void Guard::extend(const Deadlines& deadlines) {
  if (ending_) return;
  // Renewals are sent by another thread than the start: the later deadline is the newer one.
  if (deadlines.term_at > deadlines_.term_at) deadlines_ = deadlines;
  timer_.arm(deadlines_.term_at);
}

void Guard::on_time() {
  timer_.clear();
  if (child_.pid < 0) return;
  if (!ending_ && BootClock::now() >= deadlines_.term_at) begin_end();
  if (ending_ && BootClock::now() >= deadlines_.kill_at) {
    end_everything();
    finish();
  }
}

void Guard::begin_end() {
  if (ending_) return;
  ending_ = true;
  ask_everybody_to_end();
  timer_.arm(deadlines_.kill_at);
}

void Guard::ask_everybody_to_end() {
  if (init_ > 0) {
    kill(init_, SIGTERM);  // It passes it on.
    return;
  }
  signal_group(SIGTERM);
  signal_group(SIGCONT);  // A stopped process would not see the SIGTERM.
  // Then those who left the group: its members have had it.
  signal_descendants({.signal = SIGTERM, .then_continue = true, .except_group = child_.pid});
}

void Guard::on_signals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof info) > 0) {
  }
  if (getppid() != keeper_) {  // A second kill would leave nobody: end it while we can.
    end_everything();
    _exit(1);
  }
  reap();
}

void Guard::reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
    if (pid != child_.pid) continue;  // An orphan that fell to us.
    if (WIFSTOPPED(status)) {
      send_message(runner_, FromGuard{.kind = FromGuard::Kind::stopped, .value = WSTOPSIG(status)});
    } else {
      status_ = status;
    }
  }
  const bool none_left = pid < 0 && errno == ECHILD;
  if (!status_) return;
  // After a loss, not before the last one is gone: in a namespace init waits for that, and ends.
  if (ending_ && !none_left) return;
  // In the normal case the lock is given back now; but a namespace is not left behind.
  if (init_ > 0) end_everything();
  finish();
}

void Guard::read_exec_report() {
  if (child_.report < 0) return;
  // Written in one piece, or the end of the file: then exec has succeeded.
  StartError error;
  const ssize_t got = read(child_.report, &error, sizeof error);
  if (got < 0 && errno == EAGAIN) return;
  start_error_ = got == sizeof error ? error : StartError{};
  close(child_.report);
  child_.report = -1;
}

void Guard::signal_group(int signal) {
  // Once reaped, its number may be somebody else's.
  if (child_.pid > 0 && !status_) kill(-child_.pid, signal);
}

void Guard::end_everything() {
  if (init_ > 0) {
    kill(init_, SIGKILL);  // The kernel kills the others, and init is reaped after the last one.
    return reap_all_children(child_.pid, &status_);
  }
  signal_group(SIGKILL);  // All of the group in one step: none can fork away.
  end_all_children(child_.pid, &status_);
}

void Guard::finish() {
  read_exec_report();
  send_message(runner_, FromGuard{.kind = FromGuard::Kind::ended,
                                  .pid = child_.pid,
                                  .value = status_.value_or(0),
                                  .start_error = start_error_,
                                  .too_late = ending_});
  _exit(0);
}

}  // namespace

void serve_as_guard(int runner, const Command& command, pid_t keeper) {
  Guard(runner, command, keeper).serve();
}

GuardProcess::GuardProcess(const Command& command) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
    socket_ = ends[0];
    keeper_ = fork();
    if (keeper_ == 0) {
      close(ends[0]);
      keep_guard(ends[1], command);
    }
    close(ends[1]);
  }
  if (keeper_ < 0) {
    throw LockError(Failure(Code::unreachable, std::string("cannot start the guard process: ") +
                                                   std::strerror(errno) +
                                                   "; see ulimit -u and ulimit -n"));
  }
}

void GuardProcess::set_handle(int pidfd) {
  if (guard_ >= 0) close(guard_);
  guard_ = pidfd;
}

void GuardProcess::kill_guard() {
  if (guard_ >= 0) syscall(SYS_pidfd_send_signal, guard_, SIGKILL, nullptr, 0);
}

void GuardProcess::end() {
  if (keeper_ <= 0) return;
  shutdown(socket_, SHUT_RDWR);  // As if we were dead: the guard ends, and the keeper after it.
  const BootTime begin = BootClock::now();
  while (waitpid(keeper_, nullptr, WNOHANG) == 0) {
    if (BootClock::now() - begin > kPatience) {
      // Stopped, most likely. First the keeper, which would take the guard's end for an accident.
      ::kill(keeper_, SIGKILL);  // It is not reaped yet, so the number is still its own.
      waitpid(keeper_, nullptr, 0);
      kill_guard();
      break;
    }
    usleep(50);
  }
  leave();
}

void GuardProcess::leave() {
  keeper_ = -1;
  set_handle(-1);
}

}  // namespace holdfast::cli
