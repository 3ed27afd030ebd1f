#include "etcdctl_worker.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "pass.h"
#include "race.h"
#include "report.h"
#include "serve.h"
#include "timing.h"
#include "worker.h"

namespace holdfast::bench {

namespace {

class EtcdctlWorker {
 public:
  explicit EtcdctlWorker(const std::string& url)
      : etcdctl_("ETCDCTL_API=3 exec etcdctl --endpoints=" + url.substr(url.find("://") + 3)) {
    run("ready", "true");
  }

  std::string obey(const std::string& verb, std::istringstream& words) {
    if (verb == "pairs") return pairs(words);
    if (verb == "threads") return threads(words);
    if (verb == "contend") return contend(words);
    if (verb == "stop") return stop();
    return kUnknownLine;
  }

 private:
  // The command's output.
  std::string run(const std::string& name, const std::string& command) const {
    const std::string line = etcdctl_ + " lock " + name + " -- " + command + " 2>&1";
    FILE* const output = popen(line.c_str(), "r");
    if (output == nullptr) throw std::runtime_error("etcdctl cannot be started");
    std::array<char, 400> text{};
    const std::size_t size = std::fread(text.data(), 1, text.size() - 1, output);
    const std::string said(text.data(), size);
    if (pclose(output) != 0) throw std::runtime_error("etcdctl: " + said);
    return said;
  }

  std::string pairs(std::istringstream& words) const {
    std::string name;
    double seconds = 0;
    words >> name >> seconds;
    return time_pairs(seconds, [&] { run(name, "true"); });
  }

  std::string threads(std::istringstream& words) const {
    int count = 0;
    double seconds = 0;
    words >> count >> seconds;
    std::vector<Pair> pairs;
    for (int i = 0; i < count; ++i) {
      pairs.emplace_back([this, name = "flight-" + std::to_string(i)] { run(name, "true"); });
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
        while (!over_) {
          passes_.push_back(turn(name, hold_us));
          if (!over_) std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
        }
      } catch (const std::exception& error) {
        std::printf("failed: %s\n", error.what());
        std::fflush(stdout);
        _exit(1);
      }
    });
    return "ok";
  }

  Pass turn(const std::string& name, int hold_us) const {
    Pass pass{.asked_ns = monotonic_ns(), .got_ns = 0, .released_ns = 0};
    const std::string said = run(name, format("%s worker etcd moments %d", self_.c_str(), hold_us));
    std::istringstream moments(said);
    if (!(moments >> pass.got_ns >> pass.released_ns)) {
      throw std::runtime_error("etcdctl: " + said.substr(0, said.find('\n')));
    }
    return pass;
  }

  std::string stop() {
    over_ = true;
    if (contender_.joinable()) contender_.join();
    return to_line(passes_);
  }

  std::string etcdctl_;
  std::string self_ = std::filesystem::read_symlink("/proc/self/exe").string();
  std::atomic<bool> over_ = false;
  std::thread contender_;
  std::vector<Pass> passes_;
};

}  // namespace

int be_etcdctl_worker(const std::string& url) {
  std::unique_ptr<EtcdctlWorker> worker;
  return serve([&] { worker = std::make_unique<EtcdctlWorker>(url); },
               [&](const std::string& verb, std::istringstream& words) {
                 return worker->obey(verb, words);
               });
}

int print_moments(int hold_us) {
  const std::int64_t got = monotonic_ns();
  if (hold_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(hold_us));
  std::printf("%lld %lld\n", static_cast<long long>(got), static_cast<long long>(monotonic_ns()));
  return 0;
}

}  // namespace holdfast::bench
