#include "workers.h"

#include <coroutine>
#include <deque>
#include <thread>
#include <utility>

namespace holdfast::cli {
namespace {

void count(std::atomic<std::uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// One claimant: what it asks for, and the bookkeeping before and after.
class Claimant {
 public:
  // `number` is unique among all processes and greater than 0.
  Claimant(Client& client, const BenchPlan& plan, Board& board, WorkerStats& stats,
           std::uint32_t number)
      : plan_(plan),
        board_(board),
        stats_(stats),
        number_(number),
        stamp_(board.names()[(number - 1) % plan.names]),
        request_(make_request(client, plan, (number - 1) % plan.names)) {}

  LockRequest& request() { return request_; }
  Board& board() { return board_; }

  bool over() const { return board_.over(BootClock::now()); }

  // Somebody else than a worker may hold the name: do not wait for ever.
  Duration patience() const {
    const BootTime end{Duration(board_.state().end)};
    return end - BootClock::now() + std::chrono::seconds(1);
  }

  void begin() { asked_ = BootClock::now(); }

  // False if there is nothing to release.
  bool granted(const Result<Lease>& lease) {
    const BootTime now = BootClock::now();
    if (!lease) {
      if (lease.code() == Code::busy) {
        count(stats_.timeouts);
      } else {
        board_.fail(lease.failure());
      }
      return false;
    }
    stats_.acquire.record(now - asked_);
    if (plan_.mode == Mode::exclusive) note_owner(now);
    return true;
  }

  void before_release() {
    stamp_.released_at.store(BootClock::now().time_since_epoch().count(),
                             std::memory_order_relaxed);
  }

  void released(const Result<void>& how) {
    if (how) return count(stats_.pairs);
    if (how.code() == Code::not_held) return count(stats_.losses);
    board_.fail(how.failure());
  }

 private:
  static LockRequest make_request(Client& client, const BenchPlan& plan, std::size_t index) {
    // The same names every time: the rows that keep their tokens do not pile up.
    const Name name("holdfast-bench-" + std::to_string(index));
    LockOptions options;
    options.ttl = plan.ttl;
    switch (plan.mode) {
      case Mode::exclusive: break;
      case Mode::shared: return client.shared_mutex(name, options).shared();
      case Mode::permit: return client.semaphore(name, plan.permits, options);
    }
    return client.mutex(name, options);
  }

  void note_owner(BootTime now) {
    const std::uint32_t former = stamp_.owner.load(std::memory_order_relaxed);
    stamp_.owner.store(number_, std::memory_order_relaxed);
    if (former == number_ || former == 0) return;
    count(stats_.owner_changes);
    // A hand-off only if we were waiting when the former owner released.
    const BootTime released{Duration(stamp_.released_at.load(std::memory_order_relaxed))};
    if (released > asked_) stats_.handoff.record(now - released);
  }

  const BenchPlan& plan_;
  Board& board_;
  WorkerStats& stats_;
  const std::uint32_t number_;
  NameStamp& stamp_;
  LockRequest request_;
  BootTime asked_;
};

void work_blocking(Claimant& claimant, Duration hold) {
  try {
    while (!claimant.over()) {
      claimant.begin();
      Result<Lease> lease = claimant.request().try_acquire_for(claimant.patience());
      if (!claimant.granted(lease)) continue;
      if (hold > Duration::zero()) std::this_thread::sleep_for(hold);
      claimant.before_release();
      claimant.released(lease->release());
    }
  } catch (const LockError& error) {
    claimant.board().fail(error.failure());
  }
}

// A coroutine that nobody waits for: it starts at once and frees itself.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

// Takes turns among coroutines on one thread. An engine that answers at once (SQLite) never
// suspends its caller: without turns the first claimant would have the benchmark to itself.
// Inside the loop only.
class Turns {
 public:
  explicit Turns(std::size_t claimants) : left_(claimants) {}

  // co_await turns.next(): lets the others go first.
  auto next() {
    struct Awaiter {
      Turns& turns;
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> claimant) {
        turns.ready_.push_back(claimant);
        turns.wake();
      }
      void await_resume() const {}
    };
    return Awaiter{*this};
  }
  void done() {
    --left_;
    wake();
  }
  bool all_done() const { return left_ == 0; }

  // One round: each that is ready goes once. Waits for one to be ready, or all to be done.
  Task<void> round() {
    struct Wakened {
      Turns& turns;
      bool await_ready() const { return !turns.ready_.empty() || turns.all_done(); }
      void await_suspend(std::coroutine_handle<> self) { turns.sleeper_ = self; }
      void await_resume() const {}
    };
    co_await Wakened{*this};
    for (std::size_t i = ready_.size(); i > 0; --i) {
      const std::coroutine_handle<> claimant = ready_.front();
      ready_.pop_front();
      claimant.resume();
    }
  }

 private:
  void wake() {
    if (sleeper_) std::exchange(sleeper_, nullptr).resume();
  }

  std::size_t left_;
  std::deque<std::coroutine_handle<>> ready_;
  std::coroutine_handle<> sleeper_;
};

Detached work_in_flight(Claimant& claimant, Turns& turns) {
  co_await turns.next();
  while (!claimant.over()) {
    claimant.begin();
    Result<Lease> lease = co_await claimant.request().async_try_acquire_for(claimant.patience());
    if (!claimant.granted(lease)) continue;
    co_await turns.next();
    claimant.before_release();
    const Result<void> how = co_await lease->async_release();
    claimant.released(how);
  }
  turns.done();
}

void work_all_in_flight(Client& client, std::vector<std::unique_ptr<Claimant>>& claimants) {
  Turns turns(claimants.size());
  for (auto& claimant : claimants) work_in_flight(*claimant, turns);
  // Between two rounds the client's own thread can see to renewals and pushes.
  while (!turns.all_done()) client.run(turns.round());
}

}  // namespace

void run_workers(Client& client, const BenchPlan& plan, Board& board, std::size_t process) {
  std::vector<std::unique_ptr<Claimant>> claimants;
  for (std::size_t i = 0; i < plan.claimants(); ++i) {
    const std::size_t stats = process * plan.stats_per_process() + (plan.in_flight > 0 ? 0 : i);
    const auto number = static_cast<std::uint32_t>(process * plan.claimants() + i + 1);
    claimants.push_back(
        std::make_unique<Claimant>(client, plan, board, board.workers()[stats], number));
  }
  if (plan.in_flight > 0) return work_all_in_flight(client, claimants);
  std::vector<std::thread> threads;
  for (auto& claimant : claimants) {
    threads.emplace_back([&claimant, &plan] { work_blocking(*claimant, plan.hold); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace holdfast::cli
