// Redis: the engine beside the usual recipe by hand (hiredis) and other libraries.
#include <cstdio>
#include <cstdlib>

#include "data_folder.h"
#include "kinds.h"
#include "process.h"
#include "redis_raw.h"
#include "redis_raw_worker.h"
#include "redis_server.h"
#include "redis_traffic.h"

namespace holdfast::bench {

namespace {

// SETs a second of redis-benchmark; 0 if it is not installed.
double sets_per_s(int port, int pipeline, int count) {
  const std::string command =
      format("redis-benchmark -p %d -t set -P %d -n %d --csv 2>/dev/null", port, pipeline, count);
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), &pclose);
  char line[512];
  double rate = 0;
  while (output && std::fgets(line, sizeof line, output.get())) {
    if (std::string_view(line).starts_with("\"SET\",\"")) rate = std::atof(line + 7);
  }
  return rate;
}

// For information: the speed of the server itself.
void measure_reference(const Plan& plan, int port, Report& report) {
  const int count = plan.span < Seconds(0.2) ? 2000 : 200'000;
  for (const int pipeline : {1, 16}) {
    report.progress(format("redis-benchmark -P %d", pipeline));
    const double rate =
        in_process(plan.client_cpu, [&] { return sets_per_s(port, pipeline, count); });
    if (rate == 0) continue;  // not installed (redis-tools)
    report.add({.name = format("redis_benchmark_p%d", pipeline),
                .what = format("redis-benchmark SET -P %d, 50 connections", pipeline),
                .values = {rate / 1000},
                .unit = "k",
                .target = {},
                .detail = "SETs a second, in thousands",
                .figures = {{"sets_per_s", rate}}});
  }
}

class Redis final : public System {
 public:
  std::string title() const override { return title_of(test::ServerKind::redis); }
  std::string url() const override { return server_.url(); }
  std::vector<pid_t> processes() const override { return {server_.pid()}; }
  void flush() const override { RedisRaw(server_.port()).call({"FLUSHALL"}); }
  CountDuring commands() const override {
    return [this](const std::function<void()>& meanwhile) {
      RedisTraffic traffic(server_.port());
      traffic.begin();
      meanwhile();
      double sum = 0;
      for (const auto& [name, calls] : traffic.end()) sum += static_cast<double>(calls);
      return sum;
    };
  }
  std::vector<Division> divisions() const override {
    constexpr const char* kRaw = "raw hiredis";
    return {{.entrants = all_entrants("redis", kRaw),
             .standard = {.same_cpu = {at_least(0.8, kRaw)},
                          .other_cpu = {at_least(0.85, kRaw)},
                          .threads_16 = {at_least(0.95, kRaw)},
                          .threads_64 = {at_least(1.2, kRaw)},
                          .flight_16 = {at_least(1, kBestPeer)},
                          .flight_256 = {at_least(0.6, kRaw), at_least(1, kBestPeer)},
                          .hold_gap = {at_most(1.6, kRaw)},
                          .hold_owners = {at_least(850)},
                          .hold_commands = {at_most(3)},
                          .hot_owners = {at_least(10'000), at_least(4, kBestPeer)},
                          .mix = {at_least(1, kBestPeer)}}}};
  }
  std::optional<double> renewal_percent_at_most() const override { return 15; }
  std::vector<Extra> extras() const override {
    return {{"reference", [this](const Plan& plan, Report& report) {
               measure_reference(plan, server_.port(), report);
             }}};
  }

 private:
  test::RedisServer server_{{.durable = on_disk()}};
};

}  // namespace

SystemKind redis_kind() {
  return {.name = "redis",
          .start = [](int) { return std::make_unique<Redis>(); },
          .workers = {{"raw", &be_redis_raw_worker}}};
}

}  // namespace holdfast::bench
