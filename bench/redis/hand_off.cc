// hand-off: from release called in one of eight processes to the return of acquire in the next, in
// units of a PING from another CPU than the server's. In two placements, because a wake-up on another
// CPU costs a virtual machine several times one on the same.
#include "contest.h"
#include "raw.h"
#include "samples.h"
#include "workloads.h"

namespace holdfast::bench {

namespace {

constexpr int kPings = 2000;

struct Variant {
  std::string name;
  std::string what;
  ContestPlan contest;
  std::optional<double> bar;
};

// One repetition of one kind of contender.
struct Round {
  Contest::Outcome outcome;
  double ping_us;
};

Round play(const Plan& plan, const Server& server, const ContestPlan& contest_plan, bool ours,
           Seconds span) {
  server.flush();
  Raw pinger(server.port());
  const int pings = std::max(100, static_cast<int>(kPings * plan.span.count()));
  const double ping_before_us = pinger.ping_us(pings);
  Contest contest(contest_plan,
                  ours ? holdfast_contenders(plan.url) : list_contenders(server.port()));
  const Contest::Outcome outcome = contest.watch(plan.warm_up(), span);
  contest.stop();
  return {outcome, (ping_before_us + pinger.ping_us(pings)) / 2};
}

template <class F>
double median_of(const std::vector<Round>& rounds, F figure) {
  std::vector<double> values;
  for (const Round& round : rounds) values.push_back(figure(round));
  return median(values);
}

void add_row(Report& report, const std::string& name, const std::string& what,
             const std::string& where, const std::vector<Round>& rounds,
             std::optional<double> bar) {
  std::vector<double> ratios;
  for (const Round& round : rounds) ratios.push_back(round.outcome.p50_us / round.ping_us);
  const double p50 = median_of(rounds, [](const Round& round) { return round.outcome.p50_us; });
  const double p99 = median_of(rounds, [](const Round& round) { return round.outcome.p99_us; });
  const double p999 = median_of(rounds, [](const Round& round) { return round.outcome.p999_us; });
  const double ping = median_of(rounds, [](const Round& round) { return round.ping_us; });
  const double changes =
      median_of(rounds, [](const Round& round) { return round.outcome.changes_per_s; });
  Row row{.name = name,
          .what = what,
          .values = ratios,
          .detail = format("p50 %.0f, p99 %.0f, p99.9 %.0f us (%.1f, %.1f, %.1f PINGs of %.0f us), "
                           "%.0f owners/s; %s",
                           p50, p99, p999, p50 / ping, p99 / ping, p999 / ping, ping, changes,
                           where.c_str()),
          .figures = {{"p50_us", p50},
                      {"p99_us", p99},
                      {"p999_us", p999},
                      {"ping_us", ping},
                      {"owners_per_s", changes}}};
  if (bar) row.bar = Bar{Bar::Side::at_most, *bar};
  report.add(std::move(row));
}

void measure_variant(const Plan& plan, const Server& server, Report& report,
                     const Variant& variant) {
  std::vector<Round> ours, floor;
  for (int i = 0; i < plan.repetitions; ++i) {
    report.progress(
        format("hand-off, %s: repetition %d of %d", variant.what.c_str(), i + 1, plan.repetitions));
    floor.push_back(play(plan, server, variant.contest, false, plan.contest_span() / 3));
    ours.push_back(play(plan, server, variant.contest, true, plan.contest_span()));
  }
  const std::string where =
      variant.contest.cpus.size() > 1
          ? format("server on CPU %d, processes anywhere", plan.server_cpu)
          : format("server on CPU %d, processes on CPU %d", plan.server_cpu, plan.client_cpu);
  add_row(report, variant.name, "hand-off p50 / PING, " + variant.what, where, ours, variant.bar);
  add_row(report, variant.name + "_floor", "  the same by BLPOP and RPUSH: the floor, not a lock",
          where, floor, std::nullopt);
}

}  // namespace

void measure_hand_off(const Plan& plan, const Server& server, Report& report) {
  ContestPlan hot;
  hot.cpus = {plan.client_cpu};
  ContestPlan held = hot;
  held.hold = std::chrono::milliseconds(1);
  held.pause = std::chrono::milliseconds(2);
  ContestPlan spread = held;
  spread.cpus = {plan.server_cpu, plan.client_cpu};
  measure_variant(plan, server, report, {"hand_off_hold", "hold 1 ms, pause 2 ms", held, 1.6});
  if (plan.two_cpus()) {
    measure_variant(plan, server, report,
                    {"hand_off_hold_spread", "the same on both CPUs", spread, 1.6});
  }
  measure_variant(plan, server, report, {"hand_off_hot", "no hold, no pause", hot, std::nullopt});
}

}  // namespace holdfast::bench
