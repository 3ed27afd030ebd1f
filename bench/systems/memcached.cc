// memcached: the engine beside `add` and `delete` by hand.
#include <thread>

#include "kinds.h"
#include "memcached_raw.h"
#include "memcached_server.h"
#include "simple_worker.h"

namespace holdfast::bench {

namespace {

// Asks every millisecond whether the lock is free, as programs do.
class PollingLock final : public SimpleLock {
 public:
  PollingLock(int port, std::string name) : raw_(port), name_(std::move(name)) {}
  void acquire() override {
    while (!raw_.take(name_)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void release() override { raw_.give(name_); }

 private:
  MemcachedRaw raw_;
  std::string name_;
};

int be_raw_worker(const std::string& url) {
  const int port = std::stoi(url.substr(url.rfind(':') + 1));
  return be_simple_worker(
      [port](const std::string& name) { return std::make_unique<PollingLock>(port, name); });
}

class Memcached final : public System {
 public:
  std::string title() const override { return title_of(test::ServerKind::memcached); }
  bool keeps_data() const override { return false; }
  std::string url() const override { return server_.url(); }
  std::vector<pid_t> processes() const override { return {server_.pid()}; }
  void flush() const override { MemcachedRaw(server_.port()).call("flush_all\r\n"); }
  std::vector<Division> divisions() const override {
    constexpr const char* kRaw = "raw add and delete";
    return {
        {.entrants = all_entrants("memcached", kRaw),
         .standard = {.same_cpu = {at_least(0.85, kRaw)}, .other_cpu = {at_least(0.85, kRaw)}}}};
  }
  std::vector<double> growth_at_most() const override { return {}; }

 private:
  test::MemcachedServer server_{{.arguments = {"-t", "1"}}};
};

}  // namespace

SystemKind memcached_kind() {
  return {.name = "memcached",
          .start = [](int) { return std::make_unique<Memcached>(); },
          .workers = {{"raw", &be_raw_worker}},
          .most_waiters = 64};
}

}  // namespace holdfast::bench
