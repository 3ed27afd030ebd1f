// Race: several threads, each doing its own pair of acquire and release again and again.
#pragma once

#include <holdfast/time.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "samples.h"

namespace holdfast::bench {

using Pair = std::function<void()>;

struct alignas(64) Counter {
  std::atomic<std::uint64_t> value{0};
};

// Pairs a second, all threads together, each calling its own `pair` again and again.
class Race {
 public:
  explicit Race(const std::vector<Pair>& pairs) : counters_(pairs.size()) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      threads_.emplace_back(
          [this, &pair = pairs[i], &counter = counters_[i]] { run(pair, counter.value); });
    }
  }

  double rate(Seconds warm_up, Seconds span) {
    std::this_thread::sleep_for(warm_up);
    const std::uint64_t before = total();
    const BootTime begin = BootClock::now();
    // On a machine that was stopped for a while, the window may pass without a single pair.
    std::uint64_t after = before;
    while (after == before && !over_ && BootClock::now() - begin < std::chrono::seconds(30)) {
      std::this_thread::sleep_for(span);
      after = total();
    }
    const Seconds took = BootClock::now() - begin;
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
    if (error_) std::rethrow_exception(error_);
    if (after == before) throw std::runtime_error("no pair was finished in 30 s");
    return static_cast<double>(after - before) / took.count();
  }

 private:
  void run(const Pair& pair, std::atomic<std::uint64_t>& counter) {
    try {
      while (!over_.load(std::memory_order_relaxed)) {
        pair();
        counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      }
    } catch (...) {
      const std::lock_guard lock(error_mutex_);
      error_ = std::current_exception();
      over_ = true;
    }
  }
  std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const Counter& counter : counters_) sum += counter.value;
    return sum;
  }

  std::atomic<bool> over_ = false;
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::deque<Counter> counters_;
  std::vector<std::thread> threads_;
};

}  // namespace holdfast::bench
