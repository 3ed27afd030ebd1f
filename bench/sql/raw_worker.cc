#include "raw_worker.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "serve.h"
#include "timing.h"

namespace holdfast::bench {

namespace {

class RawWorker {
 public:
  explicit RawWorker(std::unique_ptr<Raw> raw) : raw_(std::move(raw)) {}

  std::string obey(const std::string& verb, std::istringstream& words) {
    if (verb == "stop") return stop();
    std::string name;
    double seconds = 0;
    if (verb == "ping") {
      words >> seconds;
      return time_pairs(seconds, [&] { raw_->ping(); });
    }
    words >> name;
    raw_->prepare(name);
    if (verb == "pairs") {
      words >> seconds;
      return time_pairs(seconds, [&] { raw_->acquire(name), raw_->release(name); });
    }
    if (verb == "contend") {
      int threads = 0;
      double hold_us = 0, pause_us = 0;
      words >> threads >> hold_us >> pause_us;
      over_ = false;
      passes_.clear();
      contender_ = std::thread([=, this] { contend(name, hold_us, pause_us); });
      return "ok";
    }
    return "what?";
  }

 private:
  void contend(const std::string& name, double hold_us, double pause_us) {
    try {
      while (!over_) {
        Pass pass{.asked_ns = monotonic_ns(), .got_ns = 0, .released_ns = 0};
        raw_->acquire(name);
        pass.got_ns = monotonic_ns();
        sleep(hold_us);
        pass.released_ns = monotonic_ns();
        raw_->release(name);
        passes_.push_back(pass);
        sleep(pause_us);
      }
    } catch (const std::exception& error) {
      std::printf("failed: %s\n", error.what());
      std::fflush(stdout);
      _exit(1);
    }
  }

  void sleep(double us) const {
    if (us > 0 && !over_)
      std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(us));
  }

  std::string stop() {
    over_ = true;
    contender_.join();
    return to_line(passes_);
  }

  std::unique_ptr<Raw> raw_;
  std::atomic<bool> over_ = false;
  std::thread contender_;
  std::vector<Pass> passes_;
};

}  // namespace

int be_raw_worker(const MakeRaw& make, const std::string& what) {
  const std::size_t colon = what.find(':');
  std::unique_ptr<RawWorker> worker;
  return serve(
      [&] {
        worker = std::make_unique<RawWorker>(
            make(what.substr(0, colon), std::stoi(what.substr(colon + 1))));
      },
      [&](const std::string& verb, std::istringstream& words) {
        return worker->obey(verb, words);
      });
}

}  // namespace holdfast::bench
