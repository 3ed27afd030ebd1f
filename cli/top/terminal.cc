#include "top/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace holdfast::cli::top {
namespace {

// The alternate screen; and no wrapping at the right edge, so that a character that is wider than we think harms only
// its own line.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?7l\x1b[?25l";
// Terminals without an alternate screen keep the last picture, and go on below it.
constexpr std::string_view kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[999;1H\x1b[K\x1b[?1049l";

Terminal* taken = nullptr;

[[noreturn]] void leave_and_abort() {
  if (taken) taken->leave();
  std::abort();
}

std::string_view kind() {
  const char* term = std::getenv("TERM");
  return term ? term : "";
}

int number_in(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  const int number = text ? std::atoi(text) : 0;
  return number > 0 ? number : otherwise;
}

}  // namespace

std::unique_ptr<Terminal> Terminal::open() {
  if (!isatty(STDOUT_FILENO) || kind().empty() || kind() == "dumb" || kind() == "unknown")
    return nullptr;
  // Opened anew, because what we do to our own does not change the one that the shell has. Not possible where somebody
  // else owns it (su).
  int descriptor = ::open("/proc/self/fd/1", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (descriptor < 0) return nullptr;
  return std::unique_ptr<Terminal>(new Terminal(descriptor));
}

Terminal::Terminal(int descriptor)
    : descriptor_(descriptor), on_terminate_(std::set_terminate(&leave_and_abort)) {
  taken = this;
}

Terminal::~Terminal() {
  leave();
  taken = nullptr;
  std::set_terminate(on_terminate_);
  close(descriptor_);
}

void Terminal::enter() {
  termios modes{};
  if (!saved_ && tcgetattr(descriptor_, &modes) == 0) saved_ = modes;
  if (saved_) {
    modes = *saved_;
    // Ctrl-C and Ctrl-Z stay signals; Ctrl-S and Ctrl-V do nothing.
    modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
    modes.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL | INLCR);
    modes.c_cc[VMIN] = 1;
    modes.c_cc[VTIME] = 0;
    tcsetattr(descriptor_, TCSANOW, &modes);
  }
  taken_ = true;
  pending_.clear();
  write(std::string(kEnter));
}

void Terminal::leave() {
  if (!taken_) return;
  taken_ = false;
  // The rest of a picture is of no use, but half of a sequence would swallow ours.
  flush_patiently();
  pending_ = kLeave;
  flush_patiently();
  pending_.clear();
  if (saved_) tcsetattr(descriptor_, TCSANOW, &*saved_);
}

Size Terminal::size() const {
  winsize size{};
  ioctl(descriptor_, TIOCGWINSZ, &size);
  const int columns = size.ws_col > 0 ? size.ws_col : number_in("COLUMNS", 80);
  const int rows = size.ws_row > 0 ? size.ws_row : number_in("LINES", 24);
  return {std::min(columns, 1000), std::min(rows, 500)};
}

bool Terminal::has_colours() {
  const char* none = std::getenv("NO_COLOR");
  if (none && *none) return false;
  return !kind().starts_with("vt") && !kind().ends_with("-m") && !kind().ends_with("-mono");
}

std::optional<std::string> Terminal::read() {
  char bytes[1024];
  const ssize_t got = ::read(descriptor_, bytes, sizeof bytes);
  if (got > 0) return std::string(bytes, static_cast<std::size_t>(got));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::string();
  return std::nullopt;
}

void Terminal::write(std::string text) {
  pending_ += text;
  flush();
}

void Terminal::flush() {
  while (!pending_.empty()) {
    const ssize_t written = ::write(descriptor_, pending_.data(), pending_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno != EAGAIN) pending_.clear();  // It is gone, as read() will tell.
    if (written <= 0) return;
    pending_.erase(0, static_cast<std::size_t>(written));
  }
}

void Terminal::flush_patiently() {
  constexpr int kSteps = 10;
  constexpr int kStep_ms = 50;
  for (int step = 0; step < kSteps; ++step) {
    flush();
    if (pending_.empty()) return;
    pollfd ready{descriptor_, POLLOUT, 0};
    poll(&ready, 1, kStep_ms);
  }
}

}  // namespace holdfast::cli::top
