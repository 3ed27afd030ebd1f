// Interrupt: Ctrl-C (SIGINT, SIGTERM, SIGHUP, SIGQUIT) while a command waits triggers a stop_token,
// so that the wait ends cleanly and leaves nothing in the queue.
//
// A stop_source must not be touched in a signal handler, so the signals are blocked and a thread
// reads them from a descriptor. Make it before the Client: its threads must inherit the blocked
// mask. A signal that our parent told us to ignore (nohup, background jobs) stays ignored.
#pragma once

#include <csignal>
#include <stop_token>
#include <string>
#include <thread>

#include "holdfast/result.h"

namespace holdfast::cli {

// The members of `signals` that are not ignored.
sigset_t without_ignored(const sigset_t& signals);

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return stop_.get_token(); }

  // Stops listening; the signals stay blocked. Returns the signal that came, or 0.
  int end();

 private:
  void listen();

  std::stop_source stop_;
  int signals_ = -1;  // signalfd
  int quit_ = -1;     // eventfd: end() was called
  int caught_ = 0;    // written by the thread, read after join
  std::thread thread_;
};

}  // namespace holdfast::cli
