// pairs: one worker takes and gives back a lock that nobody else wants, on the server's CPU and on
// another.
#include <sstream>
#include <stdexcept>

#include "process.h"
#include "sql_workloads.h"

namespace holdfast::bench {

Worker start_ours(const SqlSetting& setting, const std::string& options, int cpu) {
  pin_to_cpu(cpu);
  Worker worker({"/proc/self/exe", "worker", setting.database.url(options)});
  pin_to_cpu(setting.plan.client_cpu);
  return worker;
}

Worker start_raw(const SqlSetting& setting, const std::string& kind, int cpu) {
  pin_to_cpu(cpu);
  Worker worker(
      {"/proc/self/exe", "raw-worker", format("%s:%d", kind.c_str(), setting.database.port())});
  pin_to_cpu(setting.plan.client_cpu);
  return worker;
}

Timing timing(Worker& worker, const std::string& what, Seconds span) {
  std::istringstream answer(worker.ask(format("%s %.3f", what.c_str(), span.count())));
  Timing timing{};
  if (!(answer >> timing.per_s >> timing.p50_us)) throw std::runtime_error(what + ": no numbers");
  return timing;
}

std::vector<double> ratios(const std::vector<double>& of, const std::vector<double>& to) {
  std::vector<double> all;
  for (std::size_t i = 0; i < of.size(); ++i) all.push_back(of[i] / to[i]);
  return all;
}

namespace {

void measure_side(const SqlSetting& setting, const Side& side, int cpu) {
  const SqlPlan& plan = setting.plan;
  const bool same = cpu == plan.server_cpu;
  Worker our_worker = start_ours(setting, side.options, cpu);
  Worker raw_worker = start_raw(setting, side.raw, cpu);
  timing(our_worker, "pairs pair-ours", plan.span / 4);
  timing(raw_worker, "pairs pair_raw", plan.span / 4);
  std::vector<double> ours, raw, ours_us, raw_us;
  for (int i = 0; i < plan.repetitions; ++i) {
    setting.report.progress(format("pairs, %s: repetition %d", side.what.c_str(), i + 1));
    const Timing bare = timing(raw_worker, "pairs pair_raw", plan.span);
    const Timing own = timing(our_worker, "pairs pair-ours", plan.span);
    raw.push_back(bare.per_s);
    raw_us.push_back(bare.p50_us);
    ours.push_back(own.per_s);
    ours_us.push_back(own.p50_us);
  }
  Row row{.name = "pair_" + side.name + (same ? "_same_cpu" : ""),
          .what = format("%s pairs/s; of the raw pair, %s CPU", side.what.c_str(),
                         same ? "same" : "another"),
          .values = ratios(ours, raw),
          .detail = format("Holdfast %.0f, raw %.0f pairs/s; p50 %.0f and %.0f us; client on CPU "
                           "%d, server on CPU %d",
                           median(ours), median(raw), median(ours_us), median(raw_us), cpu,
                           plan.server_cpu),
          .figures = {{"ours_per_s", median(ours)},
                      {"raw_per_s", median(raw)},
                      {"ours_p50_us", median(ours_us)},
                      {"raw_p50_us", median(raw_us)}}};
  if (side.bar) row.bar = Bar{Bar::Side::at_least, *side.bar};
  setting.report.add(std::move(row));
}

}  // namespace

void measure_sql_pairs(const SqlSetting& setting) {
  for (const Side& side : setting.system.pairs) {
    if (setting.plan.client_cpu != setting.plan.server_cpu) {
      measure_side(setting, side, setting.plan.client_cpu);
    }
    measure_side(setting, side, setting.plan.server_cpu);
  }
}

}  // namespace holdfast::bench
