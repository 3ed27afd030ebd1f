// renewal: what many held leases of one client cost while nothing else happens.
#include <unistd.h>

#include <thread>

#include "flight.h"
#include "process.h"
#include "workloads.h"

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

Cost measure(const Plan& plan, const Server& server, int count) {
  Client client = Client::open(plan.url).value();
  const double before_mb = resident_mb();
  std::vector<Lease> leases(static_cast<std::size_t>(count));
  take_all(client, leases, std::chrono::duration_cast<Duration>(plan.lease_ttl));
  Cost cost{.megabytes = resident_mb() - before_mb};
  const double client_before = cpu_seconds(getpid());
  const double server_before = cpu_seconds(server.pid());
  const BootTime begin = BootClock::now();
  std::this_thread::sleep_for(plan.lease_span);
  const Seconds took = BootClock::now() - begin;
  cost.client_percent = (cpu_seconds(getpid()) - client_before) / took.count() * 100;
  cost.server_percent = (cpu_seconds(server.pid()) - server_before) / took.count() * 100;
  cost.megabytes = std::max(cost.megabytes, resident_mb() - before_mb);
  for (const Lease& lease : leases) cost.lost += lease.held() ? 0 : 1;
  give_all(client, leases);
  return cost;
}

}  // namespace

void measure_renewal(const Plan& plan, const Server& server, Report& report) {
  Curve::Series cpu{.name = "Holdfast", .points = {}};
  Curve::Series memory = cpu;
  // A tenth and a hundredth first: does the cost of one grow with their number?
  for (const int count : {plan.leases / 100, plan.leases / 10, plan.leases}) {
    if (count == 0) continue;
    report.progress(format("%d leases, for %.0f s", count, plan.lease_span.count()));
    server.flush();
    const Cost cost = in_process(plan.client_cpu, [&] { return measure(plan, server, count); });
    cpu.points.push_back({.x = static_cast<double>(count), .values = {cost.client_percent}});
    memory.points.push_back({.x = static_cast<double>(count), .values = {cost.megabytes}});
    if (count < plan.leases) continue;
    report.add(
        {.name = "renewal",
         .what = format("CPU for renewal of %d leases (of one core)", count),
         .values = {cost.client_percent},
         .unit = "%",
         .bar = Bar{Bar::Side::at_most, 15},
         .detail = format("ttl %.3g s, over %.3g s: %.0f MB, %d lost; the server used %.1f %%",
                          plan.lease_ttl.count(), plan.lease_span.count(), cost.megabytes,
                          cost.lost, cost.server_percent),
         .figures = {{"leases", count},
                     {"megabytes", cost.megabytes},
                     {"lost", cost.lost},
                     {"server_percent", cost.server_percent}}});
  }
  const std::string detail = format("ttl %.3g s", plan.lease_ttl.count());
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
