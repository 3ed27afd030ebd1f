// Pty: a pseudo-terminal, with somebody who types on it and reads its screen.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

#include "process.h"

namespace holdfast::test {

class Pty {
 public:
  explicit Pty(unsigned short columns = 200, unsigned short rows = 50)
      : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    grantpt(master_);
    unlockpt(master_);
    resize(columns, rows);
  }
  ~Pty() { close(master_); }
  Pty(const Pty&) = delete;
  Pty& operator=(const Pty&) = delete;

  std::string name() const { return ptsname(master_); }
  int descriptor() const { return master_; }
  // The foreground of the terminal is told (SIGWINCH).
  void resize(unsigned short columns, unsigned short rows) const {
    const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    ioctl(master_, TIOCSWINSZ, &size);
  }
  // All that was printed so far, as sees() has read it.
  const std::string& screen() const { return screen_; }

  void type(const std::string& text) {
    ASSERT_EQ(write(master_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  // Reads what was printed meanwhile.
  void take() {
    pollfd ready{master_, POLLIN, 0};
    char buffer[4096];
    while (poll(&ready, 1, 0) > 0) {
      const ssize_t got = read(master_, buffer, sizeof buffer);
      if (got <= 0) break;
      screen_.append(buffer, static_cast<std::size_t>(got));
    }
  }

  // Waits until it was printed after what earlier calls saw.
  bool sees(const std::string& text, std::chrono::seconds patience = std::chrono::seconds(30)) {
    const auto shown = [&] {
      take();
      const std::size_t found = screen_.find(text, seen_);
      if (found == std::string::npos) return false;
      seen_ = found + text.size();
      return true;
    };
    return eventually(shown, patience);
  }

 private:
  int master_;
  std::string screen_;
  std::size_t seen_ = 0;
};

}  // namespace holdfast::test
