// Ctrl-C (SIGINT, SIGTERM, SIGHUP, SIGQUIT) before there is a command to pass it on to.
//
//   ExitOnSignal  while connecting: nothing is held, so the process ends at once
//   Interrupt     while a claim is out: triggers a stop_token, so that the wait ends cleanly and
//                 leaves nothing in the queue
//
// A signal that our parent told us to ignore (nohup, background jobs) stays ignored. The threads of
// a Client have all signals blocked.
#pragma once

#include <csignal>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

#include "holdfast/result.h"

namespace holdfast::cli {

// The members of `signals` that are not ignored.
sigset_t without_ignored(const sigset_t& signals);

// While it lives, a signal ends this process with 128 and its number, after a report if `json`.
// Afterwards the signals are blocked: one that comes then is seen by an Interrupt or a Runner.
class ExitOnSignal {
 public:
  explicit ExitOnSignal(bool json);
  ~ExitOnSignal();
  ExitOnSignal(const ExitOnSignal&) = delete;
  ExitOnSignal& operator=(const ExitOnSignal&) = delete;

 private:
  const sigset_t signals_;
};

// A stop_source must not be touched in a signal handler, so the signals are blocked and a thread
// reads them from a descriptor.
class Interrupt {
 public:
  // `give_up`, if any, is called on the thread with the signal if end() was not called within a
  // second: the engine does not answer.
  explicit Interrupt(std::function<void(int)> give_up = {});
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return stop_.get_token(); }

  // Stops listening; the signals stay blocked. Returns the signal that came, or 0.
  int end();

 private:
  void listen();

  const std::function<void(int)> give_up_;
  std::stop_source stop_;
  int signals_ = -1;  // signalfd
  int quit_ = -1;     // eventfd: end() was called
  int caught_ = 0;    // written by the thread, read after join
  std::thread thread_;
};

}  // namespace holdfast::cli
