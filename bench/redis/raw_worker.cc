#include "raw_worker.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <thread>

#include "pass.h"
#include "race.h"
#include "raw.h"
#include "report.h"
#include "serve.h"
#include "timing.h"

namespace holdfast::bench {

namespace {

class RawWorker {
 public:
  explicit RawWorker(const std::string& url)
      : port_(std::stoi(url.substr(url.rfind(':') + 1))), alone_(port_, RawLock::Take::plain) {}

  std::string obey(const std::string& verb, std::istringstream& words) {
    if (verb == "pairs") return pairs(words);
    if (verb == "threads") return threads(words);
    if (verb == "flight") return flight(words);
    if (verb == "contend") return contend(words);
    if (verb == "stop") return stop();
    return "what?";
  }

 private:
  std::string pairs(std::istringstream& words) {
    std::string name;
    double seconds = 0;
    words >> name >> seconds;
    return time_pairs(seconds, [&] { alone_.pair(name); });
  }

  std::string threads(std::istringstream& words) {
    int count = 0;
    double seconds = 0;
    words >> count >> seconds;
    std::deque<RawLock> locks;
    std::vector<Pair> all;
    for (int i = 0; i < count; ++i) {
      RawLock& lock = locks.emplace_back(port_, RawLock::Take::plain);
      all.emplace_back([&lock, name = "raw-" + std::to_string(i)] { lock.pair(name); });
    }
    return format("%.1f", Race(all).rate(Seconds(seconds / 5), Seconds(seconds)));
  }

  std::string flight(std::istringstream& words) const {
    int count = 0;
    double seconds = 0;
    words >> count >> seconds;
    RawLock lock(port_, RawLock::Take::with_token);
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.push_back("raw-" + std::to_string(i));
    const std::int64_t begin = monotonic_ns();
    double done = 0, took_s = 0;
    while (took_s < seconds) {
      lock.pairs(names);
      done += count;
      took_s = static_cast<double>(monotonic_ns() - begin) / 1e9;
    }
    return format("%.1f", done / took_s);
  }

  std::string contend(std::istringstream& words) {
    std::string name;
    int count = 0, hold_us = 0, pause_us = 0;
    words >> name >> count >> hold_us >> pause_us;
    if (count != 1) return "what?";
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
    Raw connection(port_);
    // Of all processes, one puts the token there.
    if (connection.call({"SET", name + "-token", "there", "NX"})->type != REDIS_REPLY_NIL) {
      connection.call({"RPUSH", name, "token"});
    }
    while (!over_) {
      Pass pass{.asked_ns = monotonic_ns(), .got_ns = 0, .released_ns = 0};
      while (connection.call({"BLPOP", name, "0.1"})->type == REDIS_REPLY_NIL) {
        if (over_) return;
      }
      pass.got_ns = monotonic_ns();
      sleep(hold_us);
      pass.released_ns = monotonic_ns();
      connection.call({"RPUSH", name, "token"});
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

  int port_;
  RawLock alone_;
  std::atomic<bool> over_ = false;
  std::thread contender_;
  std::vector<Pass> passes_;
};

}  // namespace

int be_raw_worker(const std::string& url) {
  std::optional<RawWorker> worker;
  return serve([&] { worker.emplace(url); },
               [&](const std::string& verb, std::istringstream& words) {
                 return worker->obey(verb, words);
               });
}

}  // namespace holdfast::bench
