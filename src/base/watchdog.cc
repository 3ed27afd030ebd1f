#include "base/watchdog.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "base/exhausted.h"
#include "base/thread.h"
#include "base/thread_safety.h"
#include "base/timer_heap.h"

namespace holdfast::internal {

namespace {

// How long the queue may stay non-empty before more workers are started.
constexpr Duration kRound = std::chrono::milliseconds(1);
// Threads started before the watchdog looks at its wards again.
constexpr std::size_t kWorkersPerRound = 256;

}  // namespace

// Shared with the threads, which may outlive the watchdog.
struct Watchdog::State : std::enable_shared_from_this<State> {
  State() : alarm(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC)) {
    if (alarm < 0) throw LockError(exhausted("a watchdog cannot be made", errno));
  }
  ~State() { close(alarm); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void run();
  void wake_at(BootTime moment) HOLDFAST_NEEDS_LOCK(mutex);
  void enqueue(Ward& ward) HOLDFAST_NEEDS_LOCK(mutex);
  std::shared_ptr<Ward> dequeue() HOLDFAST_NEEDS_LOCK(mutex);
  void look_at_due() HOLDFAST_NEEDS_LOCK(mutex);
  // These two leave the mutex meanwhile, through a reference, which Clang cannot follow.
  void start_workers(CheckedLock& lock) HOLDFAST_NEEDS_LOCK(mutex) HOLDFAST_UNCHECKED_LOCKING;
  void work(CheckedLock& lock) HOLDFAST_NEEDS_LOCK(mutex) HOLDFAST_UNCHECKED_LOCKING;

  const int alarm;  // a timerfd on CLOCK_BOOTTIME, which goes on while the machine sleeps

  CheckedMutex mutex;
  TimerHeap wards HOLDFAST_GUARDED_BY(mutex);
  BootTime wakes_at HOLDFAST_GUARDED_BY(mutex) = BootTime::max();
  std::shared_ptr<Ward> first HOLDFAST_GUARDED_BY(mutex);  // the queue
  Ward* last HOLDFAST_GUARDED_BY(mutex) = nullptr;
  std::size_t queued HOLDFAST_GUARDED_BY(mutex) = 0;
  std::size_t workers HOLDFAST_GUARDED_BY(mutex) = 0;
  bool stopping HOLDFAST_GUARDED_BY(mutex) = false;
};

Watchdog::Watchdog() : state_(std::make_shared<State>()) {}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const CheckedLock lock(state_->mutex);
    state_->stopping = true;
    state_->wake_at(BootTime(Duration(1)));
  }
  // A callback that ran on the watchdog thread itself may have let go of the last owner.
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

Result<void> Watchdog::start() {
  if (started_.load(std::memory_order_acquire)) return {};
  const CheckedLock lock(state_->mutex);
  if (started_) return {};
  try {
    thread_ = start_thread([state = state_] { state->run(); });
  } catch (const std::system_error& error) {
    return no_thread(error.code().value());
  }
  started_.store(true, std::memory_order_release);
  return {};
}

void Watchdog::watch(Ward& ward, BootTime moment) {
  if (fork_watch_.forked()) return;
  const CheckedLock lock(state_->mutex);
  state_->wards.arm(ward.alarm_, moment);
  if (moment < state_->wakes_at) state_->wake_at(moment);
}

void Watchdog::forget(Ward& ward) {
  if (fork_watch_.forked()) return;
  const CheckedLock lock(state_->mutex);
  state_->wards.disarm(ward.alarm_);
}

void Watchdog::expire(Ward& ward) {
  if (fork_watch_.forked()) return;
  const CheckedLock lock(state_->mutex);
  state_->wards.disarm(ward.alarm_);
  state_->enqueue(ward);
  if (state_->queued > 0) state_->wake_at(BootTime(Duration(1)));
}

// ---- With the mutex held -------------------------------------------------------------------------

void Watchdog::State::wake_at(BootTime moment) {
  wakes_at = moment;
  itimerspec when{};  // all zero: never
  if (moment != BootTime::max()) {
    const auto nanoseconds = std::max<std::int64_t>(moment.time_since_epoch().count(), 1);
    when.it_value.tv_sec = nanoseconds / 1'000'000'000;
    when.it_value.tv_nsec = nanoseconds % 1'000'000'000;
  }
  timerfd_settime(alarm, TFD_TIMER_ABSTIME, &when, nullptr);
}

void Watchdog::State::enqueue(Ward& ward) {
  if (!ward.wants_callbacks()) return;
  std::shared_ptr<Ward> shared = ward.share();
  if (!shared) return;
  ++queued;
  (last ? last->next_ : first) = std::move(shared);
  last = &ward;
}

std::shared_ptr<Watchdog::Ward> Watchdog::State::dequeue() {
  std::shared_ptr<Ward> ward = std::move(first);
  first = std::move(ward->next_);
  if (!first) last = nullptr;
  --queued;
  return ward;
}

void Watchdog::State::look_at_due() {
  const BootTime now = BootClock::now();
  while (Timer* timer = wards.pop_due(now)) {
    Ward& ward = static_cast<Ward::Alarm*>(timer)->ward;
    if (const std::optional<BootTime> later = ward.look(now)) {
      wards.arm(*timer, *later);  // Allocates nothing: there was room for it.
    } else {
      enqueue(ward);
    }
  }
}

// ---- Threads -------------------------------------------------------------------------------------

void Watchdog::State::run() {
  CheckedLock lock(mutex);
  for (;;) {
    look_at_due();
    if (queued > 0) start_workers(lock);
    if (stopping) return;
    BootTime next = wards.empty() ? BootTime::max() : wards.earliest();
    if (queued > 0) next = std::min(next, BootClock::now() + kRound);
    wake_at(next);
    lock.unlock();
    std::uint64_t expirations = 0;
    static_cast<void>(read(alarm, &expirations, sizeof expirations));  // EINTR: looks once more
    lock.lock();
  }
}

void Watchdog::State::start_workers(CheckedLock& lock) {
  const std::size_t wanted =
      std::min({std::max<std::size_t>(workers, 1), queued, kWorkersPerRound});
  workers += wanted;
  lock.unlock();
  std::size_t started = 0;
  try {
    for (; started < wanted; ++started) {
      start_thread([state = shared_from_this()] {
        CheckedLock inner(state->mutex);
        state->work(inner);
        --state->workers;
      }).detach();
    }
  } catch (const std::exception&) {
    // No more threads, or no memory for one: those that run must do.
  }
  lock.lock();
  workers -= wanted - started;
  if (workers == 0) work(lock);
}

void Watchdog::State::work(CheckedLock& lock) {
  while (queued > 0) {
    std::shared_ptr<Ward> ward = dequeue();
    lock.unlock();
    ward->run_callbacks();
    ward.reset();  // Here: it may be the last owner of the watchdog itself.
    lock.lock();
  }
}

}  // namespace holdfast::internal
