#include "interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace holdfast::cli {

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

Interrupt::Interrupt() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&wanted, signal);
  const sigset_t signals = without_ignored(wanted);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  quit_ = eventfd(0, EFD_CLOEXEC);
  if (signals_ < 0 || quit_ < 0) {
    throw LockError(Failure(Code::unreachable, "out of file descriptors"));
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
    return;
  }
}

}  // namespace holdfast::cli
