// bench_memcached: the memcached engine beside what a program would do by hand on a blocking socket,
// in one run, on a memcached of its own. Each ratio is of two numbers taken side by side in one
// repetition; the row's own is the median. Ends with status 0 whatever the bars say.
#include <holdfast/holdfast.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>
#include <thread>

#include "disturbance.h"
#include "league.h"
#include "our_worker.h"
#include "process.h"
#include "race.h"
#include "raw.h"
#include "report.h"
#include "server.h"
#include "simple_worker.h"

namespace holdfast::bench {

namespace {

constexpr const char* kUsage = R"(usage: bench_memcached [OPTIONS]
  --repetitions N    1 to 100 (default 3)
  --seconds S        of one side in one repetition (default 1)
  --quick            a smoke run; its figures mean little
  --json             one JSON object instead of the table
)";

struct Plan {
  bool json = false;
  int repetitions = 3;
  Seconds span{1};
};

struct Rates {
  double raw;
  double ours;
};
constexpr int kMostRepetitions = 100;
using AllRates = std::array<Rates, kMostRepetitions>;

AllRates measure(const Plan& plan, const Server& server) {
  Raw raw(server.port());
  Client client = Client::open(server.url()).value();
  Mutex mutex = client.mutex("pair");
  const std::vector<Pair> raw_pairs{[&raw] { raw.pair("raw"); }};
  const std::vector<Pair> our_pairs{[&mutex] { mutex.acquire().value().release().value(); }};
  AllRates all{};
  for (int i = 0; i < plan.repetitions; ++i) {
    Rates& rates = all.at(static_cast<std::size_t>(i));
    const auto run_raw = [&] { rates.raw = Race(raw_pairs).rate(plan.span / 5, plan.span); };
    // Who comes first alternates, so that a machine that slows down favours neither.
    if (i % 2 == 0) run_raw();
    rates.ours = Race(our_pairs).rate(plan.span / 5, plan.span);
    if (i % 2 == 1) run_raw();
  }
  return all;
}

void measure_on(const Plan& plan, int server_cpu, int client_cpu, Report& report) {
  constexpr double kBar = 0.85;
  const bool same = server_cpu == client_cpu;
  const Server server(server_cpu);
  const Disturbance disturbance({server.pid()});
  const AllRates all = in_process(client_cpu, [&] { return measure(plan, server); });
  std::vector<double> raw;
  std::vector<double> ours;
  std::vector<double> ratios;
  for (int i = 0; i < plan.repetitions; ++i) {
    const Rates& rates = all.at(static_cast<std::size_t>(i));
    raw.push_back(rates.raw);
    ours.push_back(rates.ours);
    ratios.push_back(rates.ours / rates.raw);
  }
  report.add({.name = same ? "pairs_1_same_cpu" : "pairs_1",
              .what = same ? "1 worker, on the server's CPU" : "1 worker, on another CPU",
              .values = ratios,
              .bar = Bar{Bar::Side::at_least, kBar},
              .detail = format("raw add and delete %.0f, Holdfast %.0f pairs/s; server on CPU %d, "
                               "client on CPU %d",
                               median(raw), median(ours), server_cpu, client_cpu),
              .figures = {{"raw_per_s", median(raw)}, {"ours_per_s", median(ours)}}});
  report.note_disturbance(same ? "same_cpu" : "another_cpu", disturbance.so_far());
}

// ---- Beside others ------------------------------------------------------------------------------

// What a program does by hand: it looks every millisecond whether the lock is free.
class PollingLock final : public SimpleLock {
 public:
  PollingLock(int port, std::string name) : raw_(port), name_(std::move(name)) {}
  void acquire() override {
    while (!raw_.take(name_)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void release() override { raw_.give(name_); }

 private:
  Raw raw_;
  std::string name_;
};

int be_raw_worker(const std::string& url) {
  const int port = std::stoi(url.substr(url.rfind(':') + 1));
  return be_simple_worker(
      [port](const std::string& name) { return std::make_unique<PollingLock>(port, name); });
}

void measure_peers(const Plan& plan, int server_cpu, int client_cpu, Report& report) {
  const Server server(server_cpu);
  pin_to_cpu(client_cpu);
  constexpr const char* kRaw = "raw add and delete";
  League league({.repetitions = plan.repetitions, .span = plan.span, .warm_up = plan.span / 2},
                {.url = server.url()},
                {{.name = "Holdfast", .role = Role::ours, .command = {"/proc/self/exe", "worker"}},
                 {.name = kRaw, .role = Role::raw, .command = {"/proc/self/exe", "raw-worker"}}},
                report);
  league.pairs("peer_pairs_1", "1 worker", "threads", 1, {});
  league.pairs("peer_pairs_16", "16 workers", "threads", 16, {});
  league.contest({.name = "peer_hold",
                  .what = "8 processes, hold 1 ms, pause 2 ms",
                  .hold_us = 1000,
                  .pause_us = 2000});
  league.contest({.name = "peer_hot", .what = "8 processes, no hold, no pause"});
}

[[noreturn]] void refuse() {
  std::fputs(kUsage, stderr);
  std::exit(64);
}

double number(const char* text, double least, double most) {
  char* end = nullptr;
  const double value = text ? std::strtod(text, &end) : 0;
  if (!text || end == text || *end != '\0' || !(value >= least && value <= most)) refuse();
  return value;
}

Plan parse(int argc, char** argv) {
  Plan plan;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (option == "--help" || option == "-h") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    } else if (option == "--json") {
      plan.json = true;
    } else if (option == "--quick") {
      plan.repetitions = 1;
      plan.span = Seconds(0.1);
    } else if (option == "--repetitions") {
      plan.repetitions = static_cast<int>(number(value, 1, kMostRepetitions));
      ++i;
    } else if (option == "--seconds") {
      plan.span = Seconds(number(value, 0.01, 3600));
      ++i;
    } else {
      refuse();
    }
  }
  return plan;
}

void run(const Plan& plan) {
  const std::vector<int> cpus = allowed_cpus();
  Report report(plan.json);
  report.open(format("memcached %s, %zu CPUs, %d repetition%s",
                     Server(cpus.front()).version().c_str(), cpus.size(), plan.repetitions,
                     plan.repetitions == 1 ? "" : "s"));
  measure_on(plan, cpus.front(), cpus.front(), report);
  if (cpus.size() > 1) measure_on(plan, cpus.front(), cpus.back(), report);
  measure_peers(plan, cpus.front(), cpus.back(), report);
  report.close();
}

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "worker") {
    return holdfast::bench::be_our_worker(argv[2]);
  }
  if (argc == 3 && std::string_view(argv[1]) == "raw-worker") {
    return holdfast::bench::be_raw_worker(argv[2]);
  }
  const holdfast::bench::Plan plan = holdfast::bench::parse(argc, argv);
  try {
    holdfast::bench::run(plan);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_memcached: %s\n", error.what());
    return 1;
  }
  return 0;
}
