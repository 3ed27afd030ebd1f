#include "guard.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "holdfast/result.h"
#include "process_tree.h"
#include "protocol.h"
#include "timer.h"

namespace holdfast::cli {
namespace {

class Guard {
 public:
  Guard(int runner, Command command) : runner_(runner), command_(std::move(command)) {}

  [[noreturn]] void serve();

 private:
  void prepare();
  void on_runner();
  void handle(const ToGuard& message, int descriptor);
  void start(const ToGuard& message, int descriptor);
  void extend(const Deadlines& deadlines);
  void on_time();
  void begin_end();
  void on_children();
  void read_exec_report();
  void signal_group(int signal);
  void end_everything();
  [[noreturn]] void finish();

  int runner_;
  Command command_;
  int children_ = -1;  // signalfd for SIGCHLD
  BootTimer timer_;
  Deadlines deadlines_{};
  Child child_;
  std::optional<int> status_;  // the command's, once reaped
  int exec_error_ = 0;
  bool ending_ = false;  // SIGTERM was sent; there is no way back
};

void Guard::serve() {
  prepare();
  for (;;) {
    pollfd ready[] = {{timer_.descriptor(), POLLIN, 0},
                      {runner_, POLLIN, 0},
                      {children_, POLLIN, 0},
                      {child_.report, POLLIN, 0}};
    if (poll(ready, 4, -1) < 0) continue;
    if (ready[3].revents != 0) read_exec_report();
    if (ready[2].revents != 0) on_children();
    if (ready[0].revents != 0) on_time();
    if (ready[1].revents != 0) on_runner();
  }
}

void Guard::prepare() {
  setpgid(0, 0);
  prctl(PR_SET_NAME, "holdfast-guard");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t child_ended;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  children_ = signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK);
  // Without these there is no guard: the runner sees us gone and does not start the command.
  if (children_ < 0 || timer_.descriptor() < 0) _exit(1);
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
  command_.variables.push_back("HOLDFAST_TOKEN=" + std::to_string(message.token));
  command_.variables.push_back("HOLDFAST_VALID_UNTIL_MS=" + std::to_string(message.valid_until_ms));
  // We keep our own copy of the descriptor open until we exit: see 1.
  child_ = start_child(command_, descriptor, message.foreground);
  if (child_.pid < 0) {
    exec_error_ = errno;
    finish();
  }
  send_message(runner_, FromGuard{.kind = FromGuard::Kind::started, .pid = child_.pid});
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
  signal_group(SIGTERM);
  signal_group(SIGCONT);  // A stopped process would not see the SIGTERM.
  timer_.arm(deadlines_.kill_at);
}

void Guard::on_children() {
  signalfd_siginfo info;
  while (read(children_, &info, sizeof info) > 0) {
  }
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
  // In the normal case the lock is given back now; after a loss, not before the last one is gone.
  if (status_ && (!ending_ || none_left)) finish();
}

void Guard::read_exec_report() {
  if (child_.report < 0) return;
  // One int, written in one piece, or the end of the file: then exec has succeeded.
  if (read(child_.report, &exec_error_, sizeof exec_error_) < 0 && errno == EAGAIN) return;
  close(child_.report);
  child_.report = -1;
}

void Guard::signal_group(int signal) {
  // Once reaped, its number may be somebody else's.
  if (child_.pid > 0 && !status_) kill(-child_.pid, signal);
}

void Guard::end_everything() {
  signal_group(SIGKILL);  // All of the group in one step: none can fork away.
  end_all_children(std::nullopt, {}, child_.pid, &status_);
}

void Guard::finish() {
  read_exec_report();
  send_message(runner_, FromGuard{.kind = FromGuard::Kind::ended,
                                  .pid = child_.pid,
                                  .value = status_.value_or(0),
                                  .exec_error = exec_error_,
                                  .too_late = ending_});
  _exit(0);
}

}  // namespace

GuardProcess::GuardProcess(const Command& command) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
    socket_ = ends[0];
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      Guard(ends[1], command).serve();
    }
    close(ends[1]);
  }
  if (pid_ < 0) {
    throw LockError(Failure(Code::unreachable,
                            "cannot start the guard process: out of processes, "
                            "descriptors or memory"));
  }
}

void GuardProcess::kill() {
  // It is not reaped yet, so the number is still its own.
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

void GuardProcess::end() {
  if (pid_ <= 0) return;
  kill();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace holdfast::cli
