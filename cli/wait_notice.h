// WaitNotice: tells the one who waits for a lock what it waits for.
//
//   holdfast: waiting for 'x', held by alice@db1 pid 812: make deploy since 12min, 3 before us (2min)
//
// On a terminal one line on standard error, from the first second on, kept up to date and erased in the end. In a
// log a line each minute. A service manager gets it as its status. It asks the engine by a client and a thread of its
// own, which nobody waits for: a server that does not answer delays neither the grant nor Ctrl-C.
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
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

// The awaited lock, in parts: on a narrow terminal it is the holder's label, often a whole command line, that is cut,
// not what stands behind it. Pure.
struct AwaitedLock {
  std::string name;    // "'x'", and what is said instead of a holder
  std::string holder;  // its label; may be empty
  std::string rest;    // since when, who else, our place

  // At most `max` bytes, unless that left nothing of the label.
  std::string text(std::size_t max = SIZE_MAX) const;
};
AwaitedLock awaited_lock(const LockInfo& lock, const std::string& label);

}  // namespace holdfast::cli
