// crowd: what waiting costs. Commands per hand-off with few and with many waiters, and the CPU of a
// thousand that wait while nothing happens.
#include <stdexcept>
#include <thread>

#include "contest.h"
#include "traffic.h"
#include "workloads.h"

namespace holdfast::bench {

namespace {

constexpr int kProcesses = 8;

template <class F>
void wait_until(const char* what, F reached) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!reached()) {
    if (std::chrono::steady_clock::now() > end) {
      throw std::runtime_error(std::string("the crowd took more than a minute: ") + what);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Connecting, subscribing and loading scripts is over when everybody has had the lock about once.
void wait_for_turns(const Contest& contest, int contenders) {
  wait_until("not all had their turn",
             [&] { return contest.board().changes >= static_cast<std::uint64_t>(contenders); });
}

// All but the one that holds it are waiting.
void wait_for_crowd(const Contest& contest, int contenders) {
  wait_until("not all came to wait",
             [&] { return contest.board().waiting + 1 >= static_cast<std::uint64_t>(contenders); });
}

void count_commands(const Plan& plan, const Server& server, Report& report, const Contest& contest,
                    int contenders) {
  Traffic traffic(server.port());
  traffic.begin();
  const std::uint64_t changes_before = contest.board().changes;
  std::this_thread::sleep_for(plan.contest_span());
  const std::uint64_t changes = contest.board().changes - changes_before;
  const auto sent = traffic.end();
  if (changes == 0) throw std::runtime_error("no hand-off happened in the crowd");
  const auto hand_offs = static_cast<double>(changes);
  double total = 0;
  std::string list;
  std::vector<std::pair<std::string, double>> figures{{"hand_offs", hand_offs}};
  for (const auto& [name, calls] : sent) {
    const double each = static_cast<double>(calls) / hand_offs;
    total += each;
    list += format("%s%s %.2f", list.empty() ? "" : ", ", name.c_str(), each);
    figures.emplace_back(name, each);
  }
  report.add(
      {.name = format("commands_%d", contenders),
       .what = format("commands per hand-off, %d waiters, hold 1 ms", contenders),
       .values = {total},
       .bar = Bar{Bar::Side::at_most, 3},
       .detail = format("%s; %.0f hand-offs; %d processes on CPU %d, server on CPU %d",
                        list.c_str(), hand_offs, kProcesses, plan.client_cpu, plan.server_cpu),
       .figures = std::move(figures)});
}

void watch_idle(const Plan& plan, const Server& server, Report& report, const Contest& contest,
                int contenders) {
  contest.board().frozen = true;
  wait_for_crowd(contest, contenders);
  std::this_thread::sleep_for(plan.span);  // The last ones to come have settled.
  const std::uint64_t changes = contest.board().changes;
  const double cpu_before = contest.cpu_seconds();
  const double server_before = cpu_seconds(server.pid());
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(plan.idle_span);
  const Seconds took = std::chrono::steady_clock::now() - begin;
  const double ours = (contest.cpu_seconds() - cpu_before) / took.count() * 100;
  const double servers = (cpu_seconds(server.pid()) - server_before) / took.count() * 100;
  if (contest.board().changes != changes) throw std::runtime_error("the crowd was not idle");
  report.add({.name = "idle_waiters",
              .what = format("CPU of %d idle waiters (of one core; should be near 0)", contenders),
              .values = {ours},
              .unit = "%",
              .detail = format("all %d processes over %.1f s; the server meanwhile %.2f %%",
                               kProcesses, took.count(), servers),
              .figures = {{"waiters_percent", ours}, {"server_percent", servers}}});
}

void measure_crowd_of(const Plan& plan, const Server& server, Report& report, int contenders) {
  report.progress(format("%d waiters", contenders));
  server.flush();
  ContestPlan contest_plan;
  contest_plan.processes = kProcesses;
  contest_plan.threads = contenders / kProcesses;
  contest_plan.hold = std::chrono::milliseconds(1);
  contest_plan.cpus = {plan.client_cpu};
  Contest contest(contest_plan, holdfast_contenders(plan.url));
  wait_for_turns(contest, contenders);
  count_commands(plan, server, report, contest, contenders);
  if (contenders == plan.waiters) watch_idle(plan, server, report, contest, contenders);
  contest.stop();
}

}  // namespace

void measure_waiting(const Plan& plan, const Server& server, Report& report) {
  measure_crowd_of(plan, server, report, kProcesses);
  measure_crowd_of(plan, server, report, plan.waiters);
}

}  // namespace holdfast::bench
