// WaitNotice: tells the one who waits for a lock what it waits for.
//
//   holdfast: waiting for 'x', held by alice@db1 pid 812: make deploy since 12min, 3 before us (2min)
//
// On a terminal one line on standard error, from the first second on, kept up to date and erased in the end. In a
// log a line each minute. A service manager gets it as its status. It asks the engine by a client and a thread of its own, which nobody waits for: a server
// that does not answer delays neither the grant nor Ctrl-C.
// Thread safety: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "run/service_notifier.h"
#include "session.h"

namespace holdfast::cli {

class WaitNotice {
 public:
  struct Audience {
    bool quiet = false;  // nothing on standard error
    ServiceNotifier manager;
  };
  // `label` is that of our own claims: by it we find our place among the waiters.
  WaitNotice(const Session& session, std::vector<Name> names, std::string label, Audience audience);
  // Nothing is printed after this.
  ~WaitNotice();
  WaitNotice(const WaitNotice&) = delete;
  WaitNotice& operator=(const WaitNotice&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The line without the time that was waited. Pure.
std::string waiting_text(const LockInfo& lock, const std::string& label);

}  // namespace holdfast::cli
