#include "our_worker.h"

#include <holdfast/holdfast.h>

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "flight.h"
#include "race.h"
#include "serve.h"
#include "timing.h"
#include "worker.h"

namespace holdfast::bench {

namespace {

template <class T>
T next(std::istringstream& words) {
  T value{};
  if (!(words >> value)) throw std::runtime_error("a word is missing");
  return value;
}

class OurWorker {
 public:
  explicit OurWorker(const std::string& url) : client_(Client::open(url).value()) {
    // The session is there before anything is measured.
    client_.mutex("ready").acquire().value().release().value();
  }

  std::string obey(const std::string& verb, std::istringstream& words) {
    if (verb == "pairs") return pairs(words);
    if (verb == "contend") return contend(words);
    if (verb == "stop") return stop();
    if (verb == "hold") return hold(words);
    if (verb == "drop") return held_.reset(), "ok";
    if (verb == "wait") return wait(words);
    if (verb == "flight") return flight(words);
    if (verb == "threads") return threads(words);
    if (verb == "mix") return mix(words);
    return kUnknownLine;
  }

 private:
  std::string pairs(std::istringstream& words) {
    Mutex mutex = client_.mutex(next<std::string>(words));
    return time_pairs(next<double>(words), [&] { mutex.acquire().value().release().value(); });
  }

  std::vector<Mutex> mutexes(int count) {
    std::vector<Mutex> all;
    for (int i = 0; i < count; ++i) all.push_back(client_.mutex("flight-" + std::to_string(i)));
    return all;
  }

  std::string flight(std::istringstream& words) {
    const int count = next<int>(words);
    const double seconds = next<double>(words);
    std::vector<Mutex> all = mutexes(count);
    const std::int64_t begin = monotonic_ns();
    const std::int64_t end = begin + static_cast<std::int64_t>(seconds * 1e9);
    int pairs = 0;
    Flight::run(client_, count, [&](int i) -> Task<void> {
      Mutex& mutex = all[static_cast<std::size_t>(i)];
      while (monotonic_ns() < end) {
        Lease lease = (co_await mutex.async_acquire()).value();
        const Result<void> released = co_await lease.async_release();
        released.value();
        ++pairs;
      }
    });
    return format("%.1f", pairs / (static_cast<double>(monotonic_ns() - begin) / 1e9));
  }

  std::string threads(std::istringstream& words) {
    std::vector<Mutex> all = mutexes(next<int>(words));
    std::vector<Pair> pairs;
    for (Mutex& mutex : all) {
      pairs.emplace_back([&mutex] { mutex.acquire().value().release().value(); });
    }
    const double seconds = next<double>(words);
    return format("%.1f", Race(pairs).rate(Seconds(seconds / 5), Seconds(seconds)));
  }

  std::string mix(std::istringstream& words) {
    if (!client_.guarantees().shared_mode) return kUnknownLine;
    SharedMutex mutex = client_.shared_mutex(next<std::string>(words));
    const double seconds = next<double>(words);
    const int write_percent = next<int>(words);
    const auto hold = std::chrono::microseconds(next<int>(words));
    std::mt19937 random{std::random_device{}()};
    const auto pair = [&] {
      const bool writes = static_cast<int>(random() % 100) < write_percent;
      Lease lease = (writes ? mutex.acquire() : mutex.acquire_shared()).value();
      std::this_thread::sleep_for(hold);
      lease.release().value();
    };
    return time_pairs(seconds, pair);
  }

  std::string contend(std::istringstream& words) {
    const auto name = next<std::string>(words);
    const int count = next<int>(words);
    const Seconds hold = std::chrono::duration<double, std::micro>(next<double>(words));
    const Seconds pause = std::chrono::duration<double, std::micro>(next<double>(words));
    over_ = false;
    passes_.clear();
    for (int i = 0; i < count; ++i) {
      contenders_.emplace_back([=, this, mutex = client_.mutex(name)]() mutable {
        try {
          contend_alone(mutex, i, hold, pause);
        } catch (const std::exception& error) {
          std::printf("failed: %s\n", error.what());
          std::fflush(stdout);
          _exit(1);
        }
      });
    }
    return "ok";
  }

  std::string hold(std::istringstream& words) {
    held_ = client_.mutex(next<std::string>(words)).acquire().value();
    return "ok";
  }

  std::string wait(std::istringstream& words) {
    const auto name = next<std::string>(words);
    const int count = next<int>(words);
    const LockOptions options{.ttl = std::chrono::milliseconds(next<int>(words))};
    passes_.clear();
    for (int i = 0; i < count; ++i) {
      contenders_.emplace_back([mutex = client_.mutex(name, options)]() mutable {
        try {
          mutex.acquire().value().release().value();
        } catch (const std::exception& error) {
          std::printf("failed: %s\n", error.what());
          std::fflush(stdout);
          _exit(1);
        }
      });
    }
    return "ok";
  }

  void contend_alone(Mutex& mutex, int number, Seconds hold, Seconds pause) {
    std::vector<Pass> passes;
    while (!over_) {
      Pass pass{.asked_ns = monotonic_ns(), .got_ns = 0, .released_ns = 0, .thread = number};
      Lease lease = mutex.acquire().value();
      pass.got_ns = monotonic_ns();
      sleep(hold);
      pass.released_ns = monotonic_ns();
      lease.release().value();
      passes.push_back(pass);
      sleep(pause);
    }
    const std::lock_guard lock(passes_mutex_);
    passes_.insert(passes_.end(), passes.begin(), passes.end());
  }

  void sleep(Seconds span) const {
    if (span > Seconds(0) && !over_) std::this_thread::sleep_for(span);
  }

  std::string stop() {
    over_ = true;
    for (std::thread& contender : contenders_) contender.join();
    contenders_.clear();
    return to_line(passes_);
  }

  Client client_;
  std::optional<Lease> held_;
  std::atomic<bool> over_ = false;
  std::vector<std::thread> contenders_;
  std::mutex passes_mutex_;
  std::vector<Pass> passes_;
};

}  // namespace

int be_our_worker(const std::string& url) {
  std::optional<OurWorker> worker;
  return serve([&] { worker.emplace(url); },
               [&](const std::string& verb, std::istringstream& words) {
                 return worker->obey(verb, words);
               });
}

}  // namespace holdfast::bench
