#include "held.h"

#include <holdfast/holdfast.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "flight.h"

namespace holdfast::bench {

namespace {

constexpr int kInFlight = 256;

struct Cost {
  double client_percent;
  double server_percent;
  double megabytes;
  int lost;
};

void take_all(Client& client, std::vector<Lease>& leases, Duration ttl) {
  std::size_t next = 0;
  Flight::run(client, kInFlight, [&](int) -> Task<void> {
    while (next < leases.size()) {
      Lease& lease = leases[next];
      Mutex mutex = client.mutex("lease-" + std::to_string(next++), {.ttl = ttl});
      lease = (co_await mutex.async_acquire()).value();
    }
  });
}

void give_all(Client& client, std::vector<Lease>& leases) {
  std::size_t next = 0;
  Flight::run(client, kInFlight, [&](int) -> Task<void> {
    while (next < leases.size()) {
      Lease& lease = leases[next++];
      static_cast<void>(co_await lease.async_release());  // Lost ones have been counted.
    }
  });
}

double cpu_seconds_of(const std::vector<pid_t>& processes) {
  double sum = 0;
  for (const pid_t process : processes) sum += cpu_seconds(process);
  return sum;
}

Cost measure(const HeldPlan& plan, const HeldServer& server, int count) {
  Client client = Client::open(server.url).value();
  const double before_mb = resident_mb();
  std::vector<Lease> leases(static_cast<std::size_t>(count));
  take_all(client, leases, std::chrono::duration_cast<Duration>(plan.ttl));
  Cost cost{.megabytes = resident_mb() - before_mb};
  const double client_before = cpu_seconds(getpid());
  const double server_before = cpu_seconds_of(server.processes);
  const BootTime begin = BootClock::now();
  std::this_thread::sleep_for(plan.span);
  const Seconds took = BootClock::now() - begin;
  cost.client_percent = (cpu_seconds(getpid()) - client_before) / took.count() * 100;
  cost.server_percent = (cpu_seconds_of(server.processes) - server_before) / took.count() * 100;
  cost.megabytes = std::max(cost.megabytes, resident_mb() - before_mb);
  for (const Lease& lease : leases) cost.lost += lease.held() ? 0 : 1;
  give_all(client, leases);
  return cost;
}

Row row(const HeldPlan& plan, const HeldServer& server, int count, const Cost& cost) {
  Row row{.name = "renewal",
          .what = format("CPU for renewal of %d leases (of one core)", count),
          .values = {cost.client_percent},
          .unit = "%",
          .detail = format("ttl %.3g s, over %.3g s: %.0f MB, %d lost", plan.ttl.count(),
                           plan.span.count(), cost.megabytes, cost.lost),
          .figures = {{"leases", count}, {"megabytes", cost.megabytes}, {"lost", cost.lost}}};
  if (plan.most_percent) row.bar = Bar{Bar::Side::at_most, *plan.most_percent};
  if (!server.processes.empty()) {
    row.detail += format("; the server used %.1f %%", cost.server_percent);
    row.figures.emplace_back("server_percent", cost.server_percent);
  }
  return row;
}

}  // namespace

void measure_held(const HeldPlan& plan, const HeldServer& server, Report& report) {
  Curve::Series cpu{.name = "Holdfast", .points = {}};
  Curve::Series memory = cpu;
  for (const int count : {plan.most / 100, plan.most / 10, plan.most}) {
    if (count == 0) continue;
    report.progress(format("%d leases, for %.0f s", count, plan.span.count()));
    server.flush();
    const Cost cost = in_process(plan.cpu, [&] { return measure(plan, server, count); });
    cpu.points.push_back({.x = static_cast<double>(count), .values = {cost.client_percent}});
    memory.points.push_back({.x = static_cast<double>(count), .values = {cost.megabytes}});
    if (count == plan.most) report.add(row(plan, server, count, cost));
  }
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
