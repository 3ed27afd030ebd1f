#include "idle.h"

#include <algorithm>
#include <thread>

#include "process.h"
#include "worker.h"

namespace holdfast::bench {

namespace {

constexpr int kIdleProcesses = 8;

double cpu_of(const std::vector<Worker>& workers) {
  double sum = 0;
  for (const Worker& worker : workers) sum += cpu_seconds(worker.pid());
  return sum;
}

double cpu_of(const std::vector<pid_t>& processes) {
  double sum = 0;
  for (const pid_t process : processes) sum += cpu_seconds(process);
  return sum;
}

}  // namespace

void measure_idle(const IdlePlan& plan, const std::vector<std::string>& command, Report& report) {
  report.progress(format("%d idle waiters", plan.waiters));
  Worker holder(command);
  holder.ask("hold idle");
  std::vector<Worker> workers;
  for (int i = 0; i < kIdleProcesses; ++i) workers.emplace_back(command);
  for (Worker& worker : workers) {
    worker.ask(format("wait idle %d %.0f", plan.waiters / kIdleProcesses, plan.ttl.count() * 1e3));
  }
  // All of them wait by then, and the server has counted that they came.
  std::this_thread::sleep_for(std::max({plan.delay, plan.span / 4, Seconds(0.5)}));
  const double asked_before = plan.asked ? plan.asked() : 0;
  const double clients_before = cpu_of(workers), servers_before = cpu_of(plan.servers);
  std::this_thread::sleep_for(plan.span);
  const double span_s = plan.span.count();
  const double clients = (cpu_of(workers) - clients_before) / span_s * 100;
  const double servers = (cpu_of(plan.servers) - servers_before) / span_s * 100;
  const double asked_per_s = plan.asked ? (plan.asked() - asked_before) / span_s : 0;
  holder.ask("drop");
  for (Worker& worker : workers) worker.send("stop");
  for (Worker& worker : workers) worker.answer();
  report.add({.name = "idle_waiters",
              .what = format("CPU of %d idle waiters (of one core)", plan.waiters),
              .values = {clients},
              .unit = "%",
              .target = {},
              .detail = format("%d processes over %.1f s; the server meanwhile %.2f %%",
                               kIdleProcesses, span_s, servers),
              .figures = {{"waiters_percent", clients}, {"server_percent", servers}}});
  if (!plan.asked) return;
  const double allowed = plan.waiters / (plan.ttl.count() / 4);
  report.add({.name = "idle_asked",
              .what = format("%s of %d idle waiters; of their allowance", plan.asked_what.c_str(),
                             plan.waiters),
              .values = {asked_per_s / allowed},
              // They come at random within a fifth, and the holder and this program ask as well.
              .target = at_most(1.15),
              .detail = format("%.1f/s; one of each in %.1f s is %.1f/s", asked_per_s,
                               plan.ttl.count() / 4, allowed),
              .figures = {{"asked_per_s", asked_per_s}, {"allowed_per_s", allowed}}});
}

}  // namespace holdfast::bench
