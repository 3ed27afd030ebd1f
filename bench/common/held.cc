#include "held.h"

#include <holdfast/holdfast.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

#include "flight.h"

namespace holdfast::bench {

namespace {

constexpr int kInFlight = 256;

struct Cost {
  double client_percent = 0;
  double server_percent = 0;
  double megabytes = 0;
  int lost = 0;
};

void take_all(Client& client, std::vector<Lease>& leases, Duration ttl) {
  const std::string of = std::to_string(leases.size());
  std::size_t next = 0;
  Flight::run(client, kInFlight, [&](int) -> Task<void> {
    while (next < leases.size()) {
      Lease& lease = leases[next];
      const std::string number = std::to_string(next++);
      Mutex mutex = client.mutex("lease-" + of + "-" + number, {.ttl = ttl});
      lease = (co_await mutex.async_acquire()).value();
    }
  });
}

double cpu_seconds_of(const std::vector<pid_t>& processes) {
  double sum = 0;
  for (const pid_t process : processes) sum += cpu_seconds(process);
  return sum;
}

// Ends the process, and with it the leases: to release each would take as long as to take them.
[[noreturn]] void measure(const HeldPlan& plan, const HeldServer& server, int count, Cost& cost) {
  Client client = Client::open(server.url).value();
  const double before_mb = resident_mb();
  std::vector<Lease> leases(static_cast<std::size_t>(count));
  take_all(client, leases, std::chrono::duration_cast<Duration>(plan.ttl));
  cost.megabytes = resident_mb() - before_mb;
  const double client_before = cpu_seconds(getpid());
  const double server_before = cpu_seconds_of(server.processes);
  const BootTime begin = BootClock::now();
  std::this_thread::sleep_for(plan.span);
  const Seconds took = BootClock::now() - begin;
  cost.client_percent = (cpu_seconds(getpid()) - client_before) / took.count() * 100;
  cost.server_percent = (cpu_seconds_of(server.processes) - server_before) / took.count() * 100;
  cost.megabytes = std::max(cost.megabytes, resident_mb() - before_mb);
  for (const Lease& lease : leases) cost.lost += lease.held() ? 0 : 1;
  _exit(0);
}

Row row(const HeldPlan& plan, const HeldServer& server, int count, const Cost& cost) {
  Row row{.name = "renewal",
          .what = format("CPU for renewal of %d leases (of one core)", count),
          .values = {cost.client_percent},
          .unit = "%",
          .detail = format("ttl %.3g s, over %.3g s: %.0f MB, %d lost", plan.ttl.count(),
                           plan.span.count(), cost.megabytes, cost.lost),
          .figures = {{"leases", count}, {"megabytes", cost.megabytes}, {"lost", cost.lost}}};
  if (plan.most_percent) row.target = at_most(*plan.most_percent);
  if (!server.processes.empty()) {
    row.detail += format("; the server used %.1f %% meanwhile", cost.server_percent);
    row.figures.emplace_back("server_percent", cost.server_percent);
  }
  return row;
}

// Each number of leases in a process of its own, all at the same time: they hardly do anything.
std::vector<Cost> measure_all(const HeldPlan& plan, const HeldServer& server,
                              const std::vector<int>& counts) {
  constexpr std::size_t kMax = 8;
  const Shared<std::array<Cost, kMax>> costs;
  std::vector<pid_t> processes;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    processes.push_back(start_process([&, i] {
      if (plan.cpu != kAnyCpu) pin_to_cpu(plan.cpu);
      measure(plan, server, counts[i], costs->at(i));
    }));
  }
  for (const pid_t process : processes) join_process(process);
  return {costs->begin(), costs->begin() + static_cast<std::ptrdiff_t>(counts.size())};
}

}  // namespace

void measure_held(const HeldPlan& plan, const HeldServer& server, Report& report) {
  report.progress(format("%d leases, for %.0f s", plan.most, plan.span.count()));
  server.flush();
  std::vector<int> counts;
  for (const int count : {plan.most / 100, plan.most / 10, plan.most}) {
    if (count > 0) counts.push_back(count);
  }
  const std::vector<Cost> costs = measure_all(plan, server, counts);
  Curve::Series cpu{.name = "Holdfast", .points = {}};
  Curve::Series memory = cpu;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto x = static_cast<double>(counts[i]);
    cpu.points.push_back({.x = x, .values = {costs[i].client_percent}});
    memory.points.push_back({.x = x, .values = {costs[i].megabytes}});
  }
  report.add(row(plan, server, plan.most, costs.back()));
  const std::string detail = format("ttl %.3g s", plan.ttl.count());
  report.add(Curve{.name = "held_cpu",
                   .what = "CPU for renewal, of one core",
                   .x_what = "held leases",
                   .unit = "%",
                   .series = {cpu},
                   .detail = detail});
  report.add(Curve{.name = "held_memory",
                   .what = "memory of the client for held leases",
                   .x_what = "held leases",
                   .unit = "MB",
                   .series = {memory},
                   .detail = detail});
}

}  // namespace holdfast::bench
