#include "log/standard_error.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>

#include "base/require.h"
#include "log/line.h"

namespace holdfast::internal {
namespace {

std::atomic<std::uint64_t> dropped_lines{0};

// A write must not end or stop the program that we are a guest in: not because the reader has gone (SIGPIPE), a limit
// of the file's size is reached (SIGXFSZ), or it is in the background of its terminal (SIGTTOU).
class SignalsHeldBack {
 public:
  SignalsHeldBack() {
    sigset_t held;
    sigemptyset(&held);
    sigemptyset(&raised_by_us_);
    for (const int signal : {SIGPIPE, SIGXFSZ, SIGTTOU}) sigaddset(&held, signal);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
    sigset_t pending;
    sigpending(&pending);
    for (const int signal : {SIGPIPE, SIGXFSZ}) {
      if (sigismember(&pending, signal) == 0) sigaddset(&raised_by_us_, signal);
    }
  }
  ~SignalsHeldBack() {
    const int error = errno;
    const timespec at_once{};
    while (failed_ && sigtimedwait(&raised_by_us_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  SignalsHeldBack(const SignalsHeldBack&) = delete;
  SignalsHeldBack& operator=(const SignalsHeldBack&) = delete;

  void write_failed() { failed_ = true; }

 private:
  sigset_t before_{};
  sigset_t raised_by_us_{};
  bool failed_ = false;
};

// A pipe with room a moment ago may be full now, by another thread or process. Pipes and sockets are told not to wait;
// the flag O_NONBLOCK would be for all who share standard error.
ssize_t write_what_fits(int descriptor, const std::string& line) {
  struct stat file{};
  if (fstat(descriptor, &file) != 0) return -1;
  if (S_ISSOCK(file.st_mode))
    return send(descriptor, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (S_ISFIFO(file.st_mode)) {
    const iovec part{const_cast<char*>(line.data()), line.size()};
    const ssize_t written = pwritev2(descriptor, &part, 1, -1, RWF_NOWAIT);
    // Older kernels do not know it for pipes.
    if (written >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)) return written;
  }
  return write(descriptor, line.data(), line.size());
}

std::string told_drops(std::uint64_t count, LogFormat format) {
  const LogField field{"count", count};
  const auto now =
      std::chrono::system_clock::now();  // layers: allow(clock) the time that people know
  return log_text(format, {LogLevel::warn, "dropped_lines", {&field, 1}, now});
}

}  // namespace

bool write_at_once(int descriptor, std::string line) {
  line += '\n';
  HOLDFAST_REQUIRE(line.size() <= kMaxLogLine);
  pollfd ready{descriptor, POLLOUT, 0};
  if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0 || (ready.revents & POLLERR) != 0)
    return false;
  SignalsHeldBack signals;
  const ssize_t written = write_what_fits(descriptor, line);
  if (written < 0) signals.write_failed();
  return written == static_cast<ssize_t>(line.size());
}

void write_or_drop(int descriptor, std::string line, LogFormat format) {
  if (dropped_lines.load(std::memory_order_relaxed) > 0) {
    const std::uint64_t count = dropped_lines.exchange(0);
    if (count > 0 && !write_at_once(descriptor, told_drops(count, format))) {
      dropped_lines += count + 1;
      return;
    }
  }
  if (!write_at_once(descriptor, std::move(line))) ++dropped_lines;
}

}  // namespace holdfast::internal
