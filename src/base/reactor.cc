#include "base/reactor.h"

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/exhausted.h"

namespace holdfast::internal {

namespace {

Descriptor checked(int descriptor, const char* what) {
  if (descriptor < 0) throw LockError(exhausted(what, errno));
  return Descriptor(descriptor);
}

std::uint32_t events_of(Reactor::Interest interest) {
  return (interest.read ? EPOLLIN : 0U) | (interest.write ? EPOLLOUT : 0U);
}

std::uint64_t key_of(std::uint32_t index, std::uint32_t generation) {
  return (std::uint64_t{generation} << 32) | index;
}

}  // namespace

// ---- Registrations -----------------------------------------------------------------------------

Reactor::Registration::Registration(Reactor& reactor, int descriptor, Handler& handler,
                                    Interest interest)
    : reactor_(reactor), descriptor_(descriptor), index_(reactor.free_slot()) {
  control(Interest{}, interest);
  reactor.free_.pop_back();
  Slot& slot = reactor.slots_[index_];
  slot.handler = &handler;
  slot.interest = interest;
}

Reactor::Registration::~Registration() {
  Slot& slot = reactor_.slots_[index_];
  if (slot.interest != Interest{} && !reactor_.fork_watch_.forked()) {
    epoll_ctl(reactor_.epoll_.number(), EPOLL_CTL_DEL, descriptor_, nullptr);
  }
  slot.handler = nullptr;
  ++slot.generation;
  reactor_.free_.push_back(index_);
}

void Reactor::Registration::set(Interest interest) {
  Slot& slot = reactor_.slots_[index_];
  if (slot.interest == interest || reactor_.fork_watch_.forked()) return;
  control(slot.interest, interest);
  slot.interest = interest;
}

// Without interest the descriptor leaves epoll, which would go on reporting errors.
void Reactor::Registration::control(Interest before, Interest after) {
  if (before == after) return;
  const int operation = before == Interest{}  ? EPOLL_CTL_ADD
                        : after == Interest{} ? EPOLL_CTL_DEL
                                              : EPOLL_CTL_MOD;
  epoll_event event{.events = events_of(after),
                    .data = {.u64 = key_of(index_, reactor_.slots_[index_].generation)}};
  if (epoll_ctl(reactor_.epoll_.number(), operation, descriptor_, &event) != 0) {
    throw LockError(exhausted("a descriptor cannot be watched", errno));
  }
}

std::uint32_t Reactor::free_slot() {
  if (free_.empty()) {
    // Room for all that will be given back, so that a destructor never allocates.
    if (free_.capacity() <= slots_.size()) free_.reserve(2 * slots_.size() + 8);
    slots_.emplace_back();
    free_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
  }
  return free_.back();
}

// ---- Waiting -----------------------------------------------------------------------------------

Reactor::Reactor()
    : epoll_(checked(epoll_create1(EPOLL_CLOEXEC), "an event loop cannot be made")),
      kick_(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "an event loop cannot be made")),
      alarm_(checked(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK),
                     "an event loop cannot be made")) {
  register_own(kick_, kKick);
  register_own(alarm_, kAlarm);
}

void Reactor::register_own(const Descriptor& descriptor, std::uint64_t key) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = key}};
  if (epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, descriptor.number(), &event) != 0) {
    throw LockError(exhausted("an event loop cannot be made", errno));
  }
}

bool Reactor::prepare() {
  State seen = State::awake;
  if (state_.compare_exchange_strong(seen, State::waiting)) return true;
  state_ = State::awake;
  return false;
}

void Reactor::wait() {
  // A signal that interrupts us counts as a wait without events.
  ready_ = std::max(epoll_wait(epoll_.number(), events_.data(), kBatch, -1), 0);
  // From here on a kick can be forgotten: the driver is awake, and looks at everything under the
  // monitor before it waits again. Whatever a kick was for has been written before it.
  state_ = State::awake;
}

void Reactor::kick() {
  if (state_.exchange(State::kicked) != State::waiting) return;
  const std::uint64_t one = 1;
  static_cast<void>(!write(kick_.number(), &one, sizeof one));
}

void Reactor::drain_kicks() const {
  std::uint64_t count = 0;
  static_cast<void>(!read(kick_.number(), &count, sizeof count));
}

void Reactor::dispatch() {
  const int ready = std::exchange(ready_, 0);
  for (int i = 0; i < ready; ++i) {
    const epoll_event event = events_[static_cast<std::size_t>(i)];
    if (event.data.u64 == kKick) {
      drain_kicks();
    } else if (event.data.u64 == kAlarm) {
      on_alarm();
    } else {
      dispatch(event.data.u64, event.events);
    }
  }
}

void Reactor::dispatch(std::uint64_t key, std::uint32_t events) {
  const auto index = static_cast<std::uint32_t>(key);
  // By number each time: a handler may register others, and the slots move.
  const auto listener = [&](bool Interest::* what, std::uint32_t asked) -> Handler* {
    const Slot& slot = slots_[index];
    if (key_of(index, slot.generation) != key || !(slot.interest.*what)) return nullptr;
    return (events & (asked | EPOLLERR | EPOLLHUP)) != 0 ? slot.handler : nullptr;
  };
  if (Handler* handler = listener(&Interest::read, EPOLLIN)) handler->on_readable();
  if (Handler* handler = listener(&Interest::write, EPOLLOUT)) handler->on_writable();
}

// ---- The alarm ---------------------------------------------------------------------------------

void Reactor::wake_at(BootTime moment) {
  if (moment >= alarm_at_) return;
  alarm_at_ = moment;
  const auto nanoseconds = std::max<std::int64_t>(moment.time_since_epoch().count(), 1);
  itimerspec when{};
  when.it_value.tv_sec = nanoseconds / 1'000'000'000;
  when.it_value.tv_nsec = nanoseconds % 1'000'000'000;
  timerfd_settime(alarm_.number(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void Reactor::on_alarm() {
  std::uint64_t expirations = 0;
  // Nothing to read: it was set anew after it had rung.
  if (read(alarm_.number(), &expirations, sizeof expirations) > 0) alarm_at_ = BootTime::max();
}

}  // namespace holdfast::internal
