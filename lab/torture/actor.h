// Actor: the experimenter's end of a client process (see client_process.h).
//
// The process is this very program, started anew; it ends with it, whatever happens (the kernel
// kills it). Make actors on a thread that lasts as long as the program.
//
// Thread safety: one thread at a time.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "lab/history.h"

namespace holdfast::lab {

// The experiment cannot go on; nothing follows from it for the lock.
class Trouble : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The user wants it to end.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

// Sleeps; throws Interrupted as soon as it is to stop.
void sleep_for(Duration span, const std::stop_token& stop);

// The word by which the program knows that it is to be a client process.
inline constexpr const char* kClientCommand = "torture-client";

class Actor {
 public:
  // `environment` ("NAME=value") goes before our own. Every wait ends with Interrupted on `stop`.
  Actor(std::string name, std::filesystem::path folder, HistoryFile& history, std::stop_token stop,
        const std::vector<std::string>& environment = {});
  ~Actor();  // kills it
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  const std::string& name() const { return name_; }
  bool alive() const { return pid_ > 0; }

  void open(const std::string& lock, const std::string& url,
            const std::string& recipe = "holdfast");

  void tell(const std::string& line);   // does not wait for the answer
  std::string answer(Duration limit);   // throws Trouble if none comes
  bool answers_within(Duration limit);  // the answer is kept for answer()
  std::string ask(const std::string& line, Duration limit = std::chrono::seconds(60));

  // SIGSTOP from outside; in the history as a pause at `point`.
  void stop(const std::string& point);
  void wait_until_stopped();  // by itself (the command "stop")
  bool is_stopped();
  void resume();  // SIGCONT
  void kill();    // SIGKILL, and in the history

 private:
  bool poll_input(Duration limit);  // reads what there is; true if a line is complete

  const std::string name_;
  const std::filesystem::path folder_;
  HistoryFile& history_;
  const std::stop_token stop_;
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
  std::string input_;
  bool stopped_from_outside_ = false;
};

}  // namespace holdfast::lab
