// Sight: all that is known of the engines: their locks as they were last seen, what happened to them meanwhile,
// deadlocks, and engines that do not answer. Does no input or output. Not thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "deadlock_watch.h"
#include "seen_lock.h"
#include "top/happenings.h"

namespace holdfast::cli::top {

struct TopLock {
  SeenLock lock;
  // By holder: the most that was ever left of its time, which is its ttl, or nearly.
  std::vector<long long> full_ms;

  // When the first of those who wait began to, and the first of those who hold; none: nobody does.
  std::optional<long long> waiting_since_ms() const;
  std::optional<long long> held_since_ms() const;
};

struct TopEngine {
  std::string name;
  std::unordered_map<std::string, TopLock> locks{};  // by the names' bytes
  std::size_t waiters = 0;
  std::optional<Failure> failure{};     // of the last look
  std::optional<long long> asked_ms{};  // since when it owes an answer
  std::optional<long long> seen_ms{};   // when it last told its locks
};

class Sight {
 public:
  using Clock = DeadlockWatch::Clock;

  explicit Sight(const std::vector<std::string>& engines);

  void asked(std::size_t engine, long long now_ms) { engines_[engine].asked_ms = now_ms; }
  // Events since the look before. `begun`: when the look was.
  std::vector<HistoryEvent> saw(std::size_t engine, const std::vector<LockInfo>& locks,
                                Fairness fairness, Clock::time_point begun, long long now_ms);
  void failed(std::size_t engine, const Failure& failure);
  // After all the answers that are there. A deadlock is told once it was so in two rounds of all engines.
  void look_for_deadlocks() { deadlocks_.update(); }

  const std::vector<TopEngine>& engines() const { return engines_; }
  const std::vector<Deadlock>& deadlocks() const { return deadlocks_.found(); }
  const Happenings& happenings() const { return happenings_; }
  // Null: it is not there now.
  const TopLock* find(std::size_t engine, const Name& name) const;

 private:
  std::vector<TopEngine> engines_;
  Happenings happenings_;
  DeadlockWatch deadlocks_;
};

}  // namespace holdfast::cli::top
