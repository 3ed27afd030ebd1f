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

#include "arguments.h"
#include "crowd.h"
#include "disturbance.h"
#include "held.h"
#include "our_worker.h"
#include "process.h"
#include "race.h"
#include "raw.h"
#include "report.h"
#include "server.h"
#include "simple_worker.h"
#include "standard.h"

namespace holdfast::bench {

namespace {

constexpr const char* kUsage = R"(usage: bench_memcached [OPTIONS]
  --only NAME        one workload: pairs, peers, crowd, held
  --repetitions N    1 to 100 (default 3)
  --seconds S        of one side in one repetition (default 0.5)
  --leases N         held at the same time (default 100000)
  --quick            a smoke run; its figures mean little
  --json             one JSON object instead of the table
)";

struct Plan : BasicPlan {
  int leases = 100'000;
  int waiters = 64;  // each asks again and again
  Seconds held_span{11};

  // A smoke run: everything happens once and shortly. Its figures mean little.
  void make_quick() {
    repetitions = 1;
    span = Seconds(0.1);
    leases = 1000;
    held_span = Seconds(1);
  }
};

struct Rates {
  double raw;
  double ours;
};
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

void flush(const Server& server) { Raw(server.port()).call("flush_all\r\n"); }

void measure_peers(const Plan& plan, const Server& server, int server_cpu, Report& report) {
  constexpr const char* kRaw = "raw add and delete";
  League league({.repetitions = plan.repetitions, .span = plan.span, .warm_up = plan.span / 2},
                {.url = server.url(), .flush = [&] { flush(server); }, .cpu = server_cpu},
                {{.name = "Holdfast", .role = Role::ours, .command = {"/proc/self/exe", "worker"}},
                 {.name = kRaw, .role = Role::raw, .command = {"/proc/self/exe", "raw-worker"}}},
                report);
  play_standard(league, {});
}

Plan parse(int argc, char** argv) {
  Plan plan;
  Arguments(kUsage)
      .basic(plan, {"pairs", "peers", "crowd", "held"})
      .flag("--quick", [&] { plan.make_quick(); })
      .number("--leases", 100, 1e6, [&](double value) { plan.leases = static_cast<int>(value); })
      .parse(argc, argv);
  return plan;
}

// Clients on another CPU than the server, if there is one.
void measure_apart(const Plan& plan, int server_cpu, int client_cpu, Report& report) {
  const Server server(server_cpu);
  pin_to_cpu(client_cpu);
  const auto attempt = [&](const char* name, const std::function<void()>& workload) {
    if (plan.wants(name)) report.attempt(name, workload);
  };
  attempt("peers", [&] { measure_peers(plan, server, server_cpu, report); });
  attempt("crowd", [&] {
    // Who waits asks again and again: no bar.
    measure_crowd({.most = plan.waiters,
                   .repetitions = plan.repetitions,
                   .span = plan.span,
                   .growth_at_most = {}},
                  {"/proc/self/exe", "worker", server.url()}, report, [&] { flush(server); });
  });
  attempt("held", [&] {
    measure_held(
        {.most = plan.leases, .span = plan.held_span, .cpu = client_cpu},
        {.url = server.url(), .processes = {server.pid()}, .flush = [&] { flush(server); }},
        report);
  });
}

int run(const Plan& plan) {
  const std::vector<int> cpus = allowed_cpus();
  Report report(plan.json);
  report.open(
      format("memcached %s, %zu CPUs, %d repetition%s", Server(cpus.front()).version().c_str(),
             cpus.size(), plan.repetitions, plan.repetitions == 1 ? "" : "s"),
      false);
  if (plan.wants("pairs")) {
    measure_on(plan, cpus.front(), cpus.front(), report);
    if (cpus.size() > 1) measure_on(plan, cpus.front(), cpus.back(), report);
  }
  measure_apart(plan, cpus.front(), cpus.back(), report);
  return report.close();
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
    return holdfast::bench::run(plan);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_memcached: %s\n", error.what());
    return 1;
  }
}
