// Reactor: tells which descriptors are ready, on epoll. With one alarm on CLOCK_BOOTTIME, and a
// kick that ends a wait from any thread.
//
//   driver:  prepare() ─► leave the monitor ─► wait() ─► retake the monitor ─► dispatch()
//
// wait() alone runs outside the monitor; it touches no handler. dispatch() calls the handlers, all
// under the one monitor that the driver has retaken.
//
// Readiness is level-triggered: a descriptor that is still readable is reported again. Nothing is
// lost if a handler takes less than there is, if somebody else took the bytes meanwhile, or if an
// exception ends a dispatch half-way. The price: a handler that takes nothing is called again at
// once, so interest in what nobody takes must be withdrawn.
//
// Hazards, and what prevents each:
//   - A descriptor is closed, and its number is used again, while an event is on its way: an event
//     carries a slot and its generation, not the number. The generation of a slot that was given
//     back is another, so the event reaches nobody.
//   - A handler ends the registration of another one, or its own, in the middle of a dispatch: the
//     generation is compared before each call, also between on_readable() and on_writable().
//   - A descriptor is closed before its registration ends: a duplicate elsewhere (a forked child)
//     would keep the entry in the kernel. So registrations end first, by REQUIRES.
//   - One descriptor is registered twice: epoll refuses that (EEXIST), and so do we. Two who watch
//     one socket use a duplicate each; see wire/duplicate_watch.h.
//   - fork(): the child shares the epoll instance with its parent. Registrations that end in the
//     child leave it alone, and their descriptors were perhaps closed there.
//
// Thread safety: kick() from any thread; all else under the monitor, except wait().
#pragma once

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/descriptor.h"
#include "base/fork_watch.h"
#include "holdfast/time.h"

namespace holdfast::internal {

class Reactor {
 public:
  class Handler {
   public:
    virtual void on_readable() {}
    virtual void on_writable() {}

   protected:
    ~Handler() = default;
  };

  struct Interest {
    bool read = false;
    bool write = false;
    friend bool operator==(const Interest&, const Interest&) = default;
  };

  // A descriptor that is watched, for as long as this lives. An error or the end of a connection
  // counts as ready for whatever is of interest.
  class Registration {
   public:
    // REQUIRES: the descriptor is closed after this has ended; `handler` outlives it.
    // Throws LockError (exhausted) if the operating system refuses.
    Registration(Reactor& reactor, int descriptor, Handler& handler, Interest interest);
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

    void set(Interest interest);
    Interest interest() const { return reactor_.slots_[index_].interest; }

   private:
    void control(Interest before, Interest after);

    Reactor& reactor_;
    int descriptor_;
    std::uint32_t index_;
  };

  // Throws LockError (exhausted), naming the limit, if there is no descriptor left.
  Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // How many descriptors are registered.
  std::size_t size() const { return slots_.size() - free_.size(); }

  // The alarm ends a wait at `moment`, at the latest. It only moves forward: one that rings too
  // early costs one wake-up, to disarm it costs a system call for every short critical section.
  void wake_at(BootTime moment);

  // False if somebody has kicked since the last wait: then there is something to look at first.
  bool prepare();
  // Takes prepare() back: there is no need to wait.
  void unprepare() { state_ = State::awake; }
  // REQUIRES: prepare() was true.
  void wait();
  void dispatch();
  // Ends the wait that is under way, or else the next one before it begins.
  void kick();

 private:
  struct Slot {
    Handler* handler = nullptr;  // null: free
    std::uint32_t generation = 0;
    Interest interest;
  };
  enum class State { awake, waiting, kicked };

  // The index of a slot that is free; stays in free_ until it is taken.
  std::uint32_t free_slot();
  void dispatch(std::uint64_t key, std::uint32_t events);
  void on_alarm();
  void drain_kicks() const;
  void register_own(const Descriptor& descriptor, std::uint64_t key);

  // No slot has these: its index would be too high.
  static constexpr std::uint64_t kKick = UINT64_MAX;
  static constexpr std::uint64_t kAlarm = UINT64_MAX - 1;
  static constexpr std::size_t kBatch = 64;

  ForkWatch fork_watch_;
  Descriptor epoll_;
  Descriptor kick_;   // an eventfd
  Descriptor alarm_;  // a timerfd
  BootTime alarm_at_ = BootTime::max();
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::array<epoll_event, kBatch> events_{};  // the driver's own between wait() and dispatch()
  int ready_ = 0;
  std::atomic<State> state_ = State::awake;
};

}  // namespace holdfast::internal
