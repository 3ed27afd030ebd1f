#include "base/thread.h"

#include <csignal>

namespace holdfast::internal {

std::thread start_thread(std::function<void()> work) {
  // A new thread inherits its creator's mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(std::move(work));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

}  // namespace holdfast::internal
