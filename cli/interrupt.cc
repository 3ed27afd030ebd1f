#include "interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "exit_status.h"

namespace holdfast::cli {
namespace {

// How long a claim may take to be withdrawn.
constexpr int kPatience_ms = 1000;

template <class F>
void for_each(const sigset_t& signals, F act) {
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigismember(&signals, signal) == 1) act(signal);
  }
}

sigset_t ending_signals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&wanted, signal);
  return without_ignored(wanted);
}

void exit_quietly(int signal) { _exit(kSignalBase + signal); }

void exit_with_report(int signal) {
  char report[] =
      "{\n  \"error\": {\n    \"code\": \"cancelled\",\n"
      "    \"message\": \"interrupted by signal NN\"\n  }\n}\n";
  char* const digits = std::strstr(report, "NN");
  if (signal >= 10) {
    digits[0] = static_cast<char>('0' + signal / 10);
    digits[1] = static_cast<char>('0' + signal % 10);
  } else {
    digits[0] = static_cast<char>('0' + signal);
    std::memmove(digits + 1, digits + 2, std::strlen(digits + 2) + 1);
  }
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, report, std::strlen(report));
  _exit(kSignalBase + signal);
}

}  // namespace

sigset_t without_ignored(const sigset_t& signals) {
  sigset_t kept;
  sigemptyset(&kept);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action{};
    if (sigismember(&signals, signal) != 1) continue;
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    sigaddset(&kept, signal);
  }
  return kept;
}

ExitOnSignal::ExitOnSignal(bool json) : signals_(ending_signals()) {
  struct sigaction action{};
  action.sa_handler = json ? &exit_with_report : &exit_quietly;
  for_each(signals_, [&](int signal) { sigaction(signal, &action, nullptr); });
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
}

ExitOnSignal::~ExitOnSignal() {
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  struct sigaction as_usual{};
  as_usual.sa_handler = SIG_DFL;
  for_each(signals_, [&](int signal) { sigaction(signal, &as_usual, nullptr); });
}

Interrupt::Interrupt(std::function<void(int)> give_up) : give_up_(std::move(give_up)) {
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  quit_ = eventfd(0, EFD_CLOEXEC);
  if (signals_ < 0 || quit_ < 0) {
    throw LockError(Failure(Code::unreachable,
                            "this process may not open more files: raise its limit (ulimit -n)"));
  }
  thread_ = std::thread([this] { listen(); });
}

Interrupt::~Interrupt() {
  end();
  close(signals_);
  close(quit_);
}

int Interrupt::end() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    while (write(quit_, &one, sizeof one) < 0 && errno == EINTR) {
    }
    thread_.join();
  }
  return caught_;
}

void Interrupt::listen() {
  pollfd ready[] = {{signals_, POLLIN, 0}, {quit_, POLLIN, 0}};
  while (poll(ready, 2, -1) < 0 || ready[1].revents == 0) {
    signalfd_siginfo info;
    if (read(signals_, &info, sizeof info) != sizeof info) continue;
    caught_ = static_cast<int>(info.ssi_signo);
    stop_.request_stop();
    if (give_up_ && poll(&ready[1], 1, kPatience_ms) == 0) give_up_(caught_);
    return;
  }
}

}  // namespace holdfast::cli
