// Terminal: the terminal on standard output, taken for a full screen and given back as it was.
//
//   given ── enter() ─► taken: no echo, single keys, alternate screen ── leave(), destructor ─► given
//
// Nothing is asked of it and no write blocks: one that has stopped reading (Ctrl-S, a hung ssh) does not keep this
// program from ending. Not thread-safe. One at a time.
#pragma once

#include <termios.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "top/frame.h"

namespace holdfast::cli::top {

class Terminal {
 public:
  // Null: standard output is none, or one that cannot move its cursor (TERM=dumb).
  static std::unique_ptr<Terminal> open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Stops this process, as it is usual, if it is in the background. Can be repeated: somebody else may have changed the
  // terminal while this process was stopped.
  void enter();
  void leave();

  int descriptor() const { return descriptor_; }
  Size size() const;
  // Whether colours are of use, and wanted (NO_COLOR).
  static bool has_colours();

  // The bytes that were typed; none: the terminal is gone.
  std::optional<std::string> read();
  // Takes text to be written; is_writing() until all of it was.
  void write(std::string text);
  bool is_writing() const { return !pending_.empty(); }
  void flush();

 private:
  explicit Terminal(int descriptor);
  // Waits for at most half a second in all.
  void flush_patiently();

  const int descriptor_;
  bool taken_ = false;
  std::optional<termios> saved_;
  std::string pending_;
  std::terminate_handler on_terminate_;
};

}  // namespace holdfast::cli::top
