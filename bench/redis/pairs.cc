// pairs: uncontended acquire + release by blocking threads, each on a name of its own. Holdfast's
// threads share one client, the raw ones have a connection each.
#include <holdfast/holdfast.h>

#include <array>
#include <deque>
#include <functional>

#include "process.h"
#include "race.h"
#include "raw.h"
#include "samples.h"
#include "workloads.h"

namespace holdfast::bench {

namespace {

struct Rates {
  double raw;
  double ours;
};
constexpr int kMostRepetitions = 100;
using AllRates = std::array<Rates, kMostRepetitions>;

AllRates measure(const Plan& plan, int port, int workers, const std::function<void(int)>& tell) {
  std::deque<RawLock> locks;
  Client client = Client::open(plan.url).value();
  std::deque<Mutex> mutexes;
  std::vector<Pair> raw, ours;
  for (int i = 0; i < workers; ++i) {
    RawLock& lock = locks.emplace_back(port, RawLock::Take::plain);
    raw.emplace_back([&lock, name = "raw-" + std::to_string(i)] { lock.pair(name); });
    Mutex& mutex = mutexes.emplace_back(client.mutex("pair-" + std::to_string(i)));
    ours.emplace_back([&mutex] { mutex.acquire().value().release().value(); });
  }
  AllRates all{};
  for (int i = 0; i < plan.repetitions; ++i) {
    tell(i + 1);
    Rates& rates = all.at(static_cast<std::size_t>(i));
    const auto run_raw = [&] { rates.raw = Race(raw).rate(plan.warm_up(), plan.span); };
    // Who comes first alternates, so that a machine that slows down favours neither.
    if (i % 2 == 0) run_raw();
    rates.ours = Race(ours).rate(plan.warm_up(), plan.span);
    if (i % 2 == 1) run_raw();
  }
  return all;
}

struct Case {
  const char* name;
  const char* what;
  int workers;
  bool same_cpu;
  double bar;
};

void measure_case(const Plan& plan, const Server& server, Report& report, const Case& the_case) {
  const int cpu = the_case.same_cpu ? plan.server_cpu : plan.client_cpu;
  server.flush();
  const AllRates all = in_process(cpu, [&] {
    return measure(plan, server.port(), the_case.workers, [&](int repetition) {
      report.progress(
          format("%s: repetition %d of %d", the_case.what, repetition, plan.repetitions));
    });
  });
  std::vector<double> raw, ours, ratios;
  for (int i = 0; i < plan.repetitions; ++i) {
    const Rates& rates = all.at(static_cast<std::size_t>(i));
    raw.push_back(rates.raw);
    ours.push_back(rates.ours);
    ratios.push_back(rates.ours / rates.raw);
  }
  report.add({.name = the_case.name,
              .what = the_case.what,
              .values = ratios,
              .bar = Bar{Bar::Side::at_least, the_case.bar},
              .detail = format("raw hiredis %.0f, Holdfast %.0f pairs/s; server on CPU %d, "
                               "clients on CPU %d",
                               median(raw), median(ours), plan.server_cpu, cpu),
              .figures = {{"raw_per_s", median(raw)}, {"ours_per_s", median(ours)}}});
}

}  // namespace

void measure_pairs(const Plan& plan, const Server& server, Report& report) {
  measure_case(plan, server, report,
               {"pairs_1_same_cpu", "1 worker, on the server's CPU", 1, true, 0.8});
  if (plan.two_cpus()) {
    measure_case(plan, server, report, {"pairs_1", "1 worker, on another CPU", 1, false, 0.85});
  }
  measure_case(plan, server, report,
               {"pairs_16", "16 threads, one client; of 16 connections", 16, false, 0.95});
  measure_case(plan, server, report,
               {"pairs_64", "64 threads, one client; of 64 connections", 64, false, 1.2});
}

}  // namespace holdfast::bench
