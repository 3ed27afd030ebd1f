#include "simple_worker.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <sstream>
#include <thread>
#include <vector>

#include "race.h"
#include "serve.h"
#include "timing.h"
#include "worker.h"

namespace holdfast::bench {

namespace {

class SimpleWorker {
 public:
  explicit SimpleWorker(SimpleWorkerPlan plan) : plan_(std::move(plan)) {}

  std::string obey(const std::string& verb, std::istringstream& words) {
    if (verb == "pairs") return pairs(words);
    if (verb == "threads") return threads(words);
    if (verb == "contend") return contend(words);
    if (verb == "stop") return stop();
    return plan_.answer_other ? plan_.answer_other(verb, words) : kUnknownLine;
  }

 private:
  std::string pairs(std::istringstream& words) {
    std::string name;
    double seconds = 0;
    words >> name >> seconds;
    const std::unique_ptr<SimpleLock> lock = plan_.make(name);
    return time_pairs(seconds, [&] {
      lock->acquire();
      lock->release();
    });
  }

  std::string threads(std::istringstream& words) {
    int count = 0;
    double seconds = 0;
    words >> count >> seconds;
    std::vector<std::unique_ptr<SimpleLock>> locks;
    std::vector<Pair> pairs;
    for (int i = 0; i < count; ++i) {
      SimpleLock& lock = *locks.emplace_back(plan_.make("flight-" + std::to_string(i)));
      pairs.emplace_back([&lock] {
        lock.acquire();
        lock.release();
      });
    }
    return format("%.1f", Race(pairs).rate(Seconds(seconds / 5), Seconds(seconds)));
  }

  std::string contend(std::istringstream& words) {
    std::string name;
    int count = 0, hold_us = 0, pause_us = 0;
    words >> name >> count >> hold_us >> pause_us;
    if (count != 1) return kUnknownLine;
    over_ = false;
    passes_.clear();
    contender_ = std::thread([=, this] {
      try {
        contend_alone(name, hold_us, pause_us);
      } catch (const std::exception& error) {
        std::printf("failed: %s\n", error.what());
        std::fflush(stdout);
        _exit(1);
      }
    });
    return "ok";
  }

  void contend_alone(const std::string& name, int hold_us, int pause_us) {
    const std::unique_ptr<SimpleLock> lock =
        (plan_.make_contended ? plan_.make_contended : plan_.make)(name);
    while (!over_) {
      Pass pass{.asked_ns = monotonic_ns(), .got_ns = 0, .released_ns = 0};
      lock->acquire();
      pass.got_ns = monotonic_ns();
      sleep(hold_us);
      pass.released_ns = monotonic_ns();
      lock->release();
      passes_.push_back(pass);
      sleep(pause_us);
    }
  }

  void sleep(int us) const {
    if (us > 0 && !over_) std::this_thread::sleep_for(std::chrono::microseconds(us));
  }

  std::string stop() {
    over_ = true;
    if (contender_.joinable()) contender_.join();
    return to_line(passes_);
  }

  SimpleWorkerPlan plan_;
  std::atomic<bool> over_ = false;
  std::thread contender_;
  std::vector<Pass> passes_;
};

}  // namespace

int be_simple_worker(const SimpleWorkerPlan& plan) {
  SimpleWorker worker(plan);
  return serve([] {}, [&](const std::string& verb,
                          std::istringstream& words) { return worker.obey(verb, words); });
}

}  // namespace holdfast::bench
