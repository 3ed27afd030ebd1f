// hand-off: from release called in one process to the return of acquire in the next, among eight, and
// for tables also between two; all of them on one CPU, the server on the other.
#include <stdexcept>

#include "bout.h"
#include "sql_workloads.h"

namespace holdfast::bench {

namespace {

constexpr int kProcesses = 8;
constexpr int kHoldUs = 1000;
// After a release. Two who did not come back at once would not wait for each other.
constexpr int kPauseAmongManyUs = 2000;
constexpr int kPauseOfTwoUs = 0;

using Crowd = std::vector<Worker>;

template <class Start>
Crowd start_crowd(int processes, Start start) {
  Crowd crowd;
  for (int i = 0; i < processes; ++i) crowd.push_back(start());
  return crowd;
}

// What a crowd did in all repetitions.
struct Contests {
  std::vector<double> p50_us, p99_us, p999_us, per_s;
  std::string text() const {
    return format("p50 %.0f, p99 %.0f, p99.9 %.0f us, %.0f owners/s", median(p50_us),
                  median(p99_us), median(p999_us), median(per_s));
  }
};

void contend(Crowd& crowd, const std::string& name, Seconds span, Contests& contests) {
  const Bout bout{.name = name,
                  .hold_us = kHoldUs,
                  .pause_us = crowd.size() > 2 ? kPauseAmongManyUs : kPauseOfTwoUs,
                  .warm_up = span / 4,
                  .span = span};
  const HandOffs all = play(crowd, bout).value().hand_offs;
  if (all.count == 0) throw std::runtime_error("the contest saw no hand-off");
  contests.p50_us.push_back(all.p50_us);
  contests.p99_us.push_back(all.p99_us);
  contests.p999_us.push_back(all.p999_us);
  contests.per_s.push_back(all.per_s);
}

std::vector<std::pair<std::string, double>> figures(const Contests& ours, const Contests& theirs) {
  return {{"ours_p50_us", median(ours.p50_us)},      {"ours_p99_us", median(ours.p99_us)},
          {"ours_p999_us", median(ours.p999_us)},    {"raw_p999_us", median(theirs.p999_us)},
          {"ours_owners_per_s", median(ours.per_s)}, {"raw_p50_us", median(theirs.p50_us)},
          {"raw_p99_us", median(theirs.p99_us)},     {"raw_owners_per_s", median(theirs.per_s)}};
}

void add_trips(const SqlSetting& setting, const char* name, int processes, const Contests& ours,
               const std::vector<double>& trips_us) {
  setting.report.add(
      {.name = name,
       .what = format("table hand-off p50, %d processes; of SELECT 1", processes),
       .values = ratios(ours.p50_us, trips_us),
       .bar = Bar{Bar::Side::at_most, 3},
       .detail = format("%s; SELECT 1 %.0f us", ours.text().c_str(), median(trips_us)),
       .figures = {{"ours_p50_us", median(ours.p50_us)}, {"select_1_us", median(trips_us)}}});
}

// Between two of ours. (Of two who poll, the one that released is first again; there is no comparison.)
void measure_table_of_two(const SqlSetting& setting) {
  const SqlPlan& plan = setting.plan;
  const int cpu = plan.client_cpu;
  Crowd pair = start_crowd(2, [&] { return start_ours(setting, "recipe=table", cpu); });
  Worker asks = start_raw(setting, "named", cpu);
  Contests ours;
  std::vector<double> trips_us;
  for (int i = 0; i < plan.repetitions; ++i) {
    setting.report.progress(format("hand-off, table, 2 processes: repetition %d", i + 1));
    trips_us.push_back(timing(asks, "ping", plan.span).p50_us);
    contend(pair, "table_two", plan.contest_span(), ours);
  }
  add_trips(setting, "hand_off_table_trips_two", 2, ours, trips_us);
}

void measure_table(const SqlSetting& setting) {
  const SqlPlan& plan = setting.plan;
  const int cpu = plan.client_cpu;
  Crowd our_crowd =
      start_crowd(kProcesses, [&] { return start_ours(setting, "recipe=table", cpu); });
  Crowd polling_crowd = start_crowd(kProcesses, [&] { return start_raw(setting, "poll", cpu); });
  Worker asks = start_raw(setting, "named", cpu);
  Contests ours, polling;
  std::vector<double> trips_us;
  for (int i = 0; i < plan.repetitions; ++i) {
    setting.report.progress(format("hand-off, table: repetition %d", i + 1));
    trips_us.push_back(timing(asks, "ping", plan.span).p50_us);
    contend(our_crowd, "table_ours", plan.contest_span(), ours);
    contend(polling_crowd, "table_polled", plan.contest_span(), polling);
  }
  add_trips(setting, "hand_off_table_trips", kProcesses, ours, trips_us);
  setting.report.add(
      {.name = "hand_off_table_of_polling",
       .what = "table hand-off p50; of a lock table polled each ms",
       .values = ratios(ours.p50_us, polling.p50_us),
       .bar = Bar{Bar::Side::at_most, 0.5},
       .detail = format("Holdfast %s; polled %s", ours.text().c_str(), polling.text().c_str()),
       .figures = figures(ours, polling)});
}

void measure_blocking(const SqlSetting& setting, const Side& side) {
  const SqlPlan& plan = setting.plan;
  const int cpu = plan.client_cpu;
  Crowd our_crowd = start_crowd(kProcesses, [&] { return start_ours(setting, side.options, cpu); });
  Crowd raw_crowd = start_crowd(kProcesses, [&] { return start_raw(setting, side.raw, cpu); });
  Contests ours, raw;
  for (int i = 0; i < plan.repetitions; ++i) {
    setting.report.progress(format("hand-off, %s: repetition %d", side.what.c_str(), i + 1));
    contend(our_crowd, side.name + "_ours", plan.contest_span(), ours);
    contend(raw_crowd, side.name + "_raw", plan.contest_span(), raw);
  }
  Row row{.name = "hand_off_" + side.name,
          .what = format("%s hand-off p50, 8 processes; of raw", side.what.c_str()),
          .values = ratios(ours.p50_us, raw.p50_us),
          .detail = format("Holdfast %s; raw %s", ours.text().c_str(), raw.text().c_str()),
          .figures = figures(ours, raw)};
  if (side.bar) row.bar = Bar{Bar::Side::at_most, *side.bar};
  setting.report.add(std::move(row));
}

}  // namespace

void measure_sql_hand_off(const SqlSetting& setting) {
  measure_table_of_two(setting);
  measure_table(setting);
  for (const Side& side : setting.system.blocking) measure_blocking(setting, side);
}

}  // namespace holdfast::bench
