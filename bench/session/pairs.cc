// pairs: one worker takes and gives back a lock that nobody else wants.
// in-flight: sixteen do, each on a name of its own and all in one session.
#include <sstream>
#include <stdexcept>

#include "worker.h"
#include "workloads.h"

namespace holdfast::bench {

namespace {

constexpr int kWorkers = 16;

std::vector<std::string> with_single_url(std::vector<std::string> command, const Servers& servers) {
  command.push_back(servers.single_url());
  return command;
}

struct Timing {
  double per_s;
  double p50_us;
};

Timing pairs(Worker& worker, const char* name, Seconds span) {
  std::istringstream answer(worker.ask(format("pairs %s %.3f", name, span.count())));
  Timing timing{};
  if (!(answer >> timing.per_s >> timing.p50_us)) throw std::runtime_error("pairs: no numbers");
  return timing;
}

// One side in all repetitions.
struct Side {
  std::vector<double> per_s, p50_us;
  void add(const Timing& timing) {
    per_s.push_back(timing.per_s);
    p50_us.push_back(timing.p50_us);
  }
};

std::vector<double> ratios(const std::vector<double>& of, const std::vector<double>& to) {
  std::vector<double> all;
  for (std::size_t i = 0; i < of.size(); ++i) all.push_back(of[i] / to[i]);
  return all;
}

Row pair_row(const Setting& setting, const Side& ours, const Side& theirs, const std::string& name,
             const std::string& of, std::optional<double> bar) {
  Row row{.name = name + setting.suffix,
          .what = format("acquire + release, time; of %s, %s", of.c_str(), setting.where.c_str()),
          .values = ratios(ours.p50_us, theirs.p50_us),
          .detail = format("p50 %.0f us of %.0f us; %.0f and %.0f pairs/s", median(ours.p50_us),
                           median(theirs.p50_us), median(ours.per_s), median(theirs.per_s)),
          .figures = {{"ours_us", median(ours.p50_us)},
                      {"theirs_us", median(theirs.p50_us)},
                      {"ours_per_s", median(ours.per_s)},
                      {"theirs_per_s", median(theirs.per_s)}}};
  if (bar) row.bar = Bar{Bar::Side::at_most, *bar};
  return row;
}

double rate(Worker& worker, const char* verb, Seconds span) {
  return std::stod(worker.ask(format("%s %d %.3f", verb, kWorkers, span.count())));
}

}  // namespace

void measure_pairs(const Setting& setting) {
  const auto& [plan, system, servers, report, where, suffix] = setting;
  Worker our_worker(with_single_url(system.our_command, servers));
  Worker raw_worker(with_single_url(system.raw_command, servers));
  std::optional<Worker> peer_worker;
  if (!system.peer_command.empty())
    peer_worker.emplace(with_single_url(system.peer_command, servers));
  pairs(our_worker, "pair-ours", plan.warm_up / 4);
  pairs(raw_worker, "pair-raw", plan.warm_up / 4);
  if (peer_worker) pairs(*peer_worker, "pair-theirs", plan.warm_up);
  Side ours, raw, theirs;
  for (int i = 0; i < plan.repetitions; ++i) {
    report.progress(format("pairs, %s: repetition %d", where.c_str(), i + 1));
    raw.add(pairs(raw_worker, "pair-raw", plan.span));
    ours.add(pairs(our_worker, "pair-ours", plan.span));
    if (peer_worker) theirs.add(pairs(*peer_worker, "pair-theirs", plan.span));
  }
  if (peer_worker) {
    report.add(pair_row(setting, ours, theirs, "pair_of_peer", system.peer, system.pair_of_peer));
  }
  report.add(
      pair_row(setting, ours, raw, "pair_of_raw", "raw " + system.raw_what, system.pair_of_raw));
}

void measure_in_flight(const Setting& setting) {
  const auto& [plan, system, servers, report, where, suffix] = setting;
  Worker our_worker(with_single_url(system.our_command, servers));
  Worker raw_worker(with_single_url(system.raw_command, servers));
  rate(our_worker, "flight", plan.warm_up / 4);
  rate(raw_worker, "flight", plan.warm_up / 4);
  std::vector<double> raw, flying, threads;
  for (int i = 0; i < plan.repetitions; ++i) {
    report.progress(format("in flight, %s: repetition %d", where.c_str(), i + 1));
    raw.push_back(rate(raw_worker, "flight", plan.span));
    flying.push_back(rate(our_worker, "flight", plan.span));
    threads.push_back(rate(our_worker, "threads", plan.span));
  }
  const auto row = [&](const char* name, const std::string& what, const std::vector<double>& ours) {
    report.add({.name = name + suffix,
                .what = what + ", " + where,
                .values = ratios(ours, raw),
                .bar = Bar{Bar::Side::at_least, 0.8},
                .detail = format("raw %s %.0f, Holdfast %.0f pairs/s", system.raw_what.c_str(),
                                 median(raw), median(ours)),
                .figures = {{"raw_per_s", median(raw)}, {"ours_per_s", median(ours)}}});
  };
  row("in_flight_16", "16 coroutines in one session; of raw pipelined", flying);
  row("threads_16", "16 threads in one session; of raw pipelined", threads);
}

}  // namespace holdfast::bench
