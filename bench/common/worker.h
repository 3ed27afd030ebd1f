// Worker: a process that takes and gives back locks as it is told by lines, each of which it answers
// with one. Ours, other libraries' and raw clients in any language are told the same way, so that they
// are measured alike.
//
//   line                                       answer
//   pairs NAME SECONDS                         RATE P50_US: acquire and release again and again
//   contend NAME THREADS HOLD_US PAUSE_US      ok; from now on it contends for that one lock
//   stop                                       COUNT, then of each pass (pass.h) the number of its
//                                              thread and its three moments
//   flight COUNT SECONDS                       RATE of pairs, COUNT names at the same time on one
//                                              connection
//   threads COUNT SECONDS                      the same by blocking threads, or what the language has
//   mix NAME SECONDS PERCENT HOLD_US           RATE: a reader, so many of a hundred times a writer
//
// It says "ready" when it is connected, and "failed: WHY" when it cannot go on. A line that it does
// not know it answers with "what?".
//
// Thread safety: none.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "samples.h"

namespace holdfast::bench {

inline constexpr const char* kUnknownLine = "what?";

class Worker {
 public:
  // The first word is a program, looked for in PATH. Throws if it does not get ready.
  explicit Worker(const std::vector<std::string>& command);
  // Kills it.
  ~Worker();
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&&) = delete;

  void send(const std::string& line);
  // Throws if it fails, ends, or takes longer: one that hangs must not stop the whole run.
  std::string answer(Seconds within = kPatience);
  // For something that takes so long.
  std::string ask(const std::string& line, Seconds span = Seconds(0)) {
    return send(line), answer(span + kPatience);
  }

  pid_t pid() const { return pid_; }

 private:
  static constexpr Seconds kPatience{60};

  std::string name_;
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string unread_;
};

}  // namespace holdfast::bench
