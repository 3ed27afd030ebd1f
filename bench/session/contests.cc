// hand-off: from release called in one of eight processes to the return of acquire in the next.
// crowd: the same among a thousand, and how many events are sent for it.
#include <stdexcept>
#include <thread>

#include "pass.h"
#include "worker.h"
#include "workloads.h"

namespace holdfast::bench {

namespace {

constexpr int kProcesses = 8;

using Crowd = std::vector<Worker>;

Crowd start(const std::vector<std::string>& command, const Servers& servers) {
  std::vector<std::string> words = command;
  words.push_back(servers.url());
  Crowd crowd;
  for (int i = 0; i < kProcesses; ++i) crowd.emplace_back(words);
  return crowd;
}

struct Contest {
  std::string name;
  int threads = 1;  // of each process
  int hold_us = 0;
  int pause_us = 0;
};

struct Outcome {
  HandOffs hand_offs;
  double events_each;
};

Outcome play(Crowd& crowd, const Servers& servers, const Contest& contest, Seconds warm_up,
             Seconds span) {
  const std::string line = format("contend %s %d %d %d", contest.name.c_str(), contest.threads,
                                  contest.hold_us, contest.pause_us);
  for (Worker& worker : crowd) worker.send(line);
  for (Worker& worker : crowd) worker.answer();
  std::this_thread::sleep_for(warm_up);
  const double events_before = servers.events();
  const std::int64_t from = monotonic_ns();
  std::this_thread::sleep_for(span);
  const std::int64_t to = monotonic_ns();
  const double events = servers.events() - events_before;
  for (Worker& worker : crowd) worker.send("stop");
  std::vector<Pass> passes;
  for (std::size_t i = 0; i < crowd.size(); ++i) {
    for (Pass& pass : passes_of(crowd[i].answer())) {
      pass.worker = static_cast<int>(i);
      passes.push_back(pass);
    }
  }
  const HandOffs all = hand_offs(std::move(passes), from, to);
  if (all.count == 0) throw std::runtime_error("the contest saw no hand-off");
  const double seconds = static_cast<double>(to - from) / 1e9;
  return {.hand_offs = all, .events_each = events / (all.per_s * seconds)};
}

struct Side {
  std::vector<double> p50_us, p99_us, per_s, events;
  void add(const Outcome& outcome) {
    p50_us.push_back(outcome.hand_offs.p50_us);
    p99_us.push_back(outcome.hand_offs.p99_us);
    per_s.push_back(outcome.hand_offs.per_s);
    events.push_back(outcome.events_each);
  }
  std::string text() const {
    return format("p50 %.0f, p99 %.0f us, %.0f owners/s, %.2f events each", median(p50_us),
                  median(p99_us), median(per_s), median(events));
  }
};

std::vector<double> ratios(const Side& of, const Side& to) {
  std::vector<double> all;
  for (std::size_t i = 0; i < of.p50_us.size(); ++i) all.push_back(of.p50_us[i] / to.p50_us[i]);
  return all;
}

void measure_against_peer(const Setting& setting, Crowd& our_crowd, Crowd& peer_crowd,
                          const Contest& contest, const std::string& what) {
  const auto& [plan, system, servers, report, where, suffix] = setting;
  Side ours, theirs;
  for (int i = 0; i < plan.repetitions; ++i) {
    report.progress(format("hand-off, %s: repetition %d", where.c_str(), i + 1));
    Contest own = contest;
    own.name = contest.name + "-ours";
    ours.add(play(our_crowd, servers, own, plan.span / 4, plan.span));
    theirs.add(play(peer_crowd, servers, contest, plan.span / 4, plan.span));
  }
  report.add({.name = contest.name + suffix,
              .what = format("hand-off p50, %s; of %s, %s", what.c_str(), system.peer.c_str(),
                             where.c_str()),
              .values = ratios(ours, theirs),
              .bar = Bar{Bar::Side::at_most, system.hand_off_of_peer},
              .detail = format("Holdfast %s; %s %s", ours.text().c_str(), system.peer.c_str(),
                               theirs.text().c_str()),
              .figures = {{"ours_p50_us", median(ours.p50_us)},
                          {"ours_p99_us", median(ours.p99_us)},
                          {"ours_owners_per_s", median(ours.per_s)},
                          {"theirs_p50_us", median(theirs.p50_us)},
                          {"theirs_p99_us", median(theirs.p99_us)},
                          {"theirs_owners_per_s", median(theirs.per_s)}}});
}

}  // namespace

void measure_hand_off(const Setting& setting) {
  const auto& [plan, system, servers, report, where, suffix] = setting;
  if (system.peer_command.empty()) return;
  Crowd ours = start(system.our_command, servers);
  Crowd theirs = start(system.peer_command, servers);
  play(ours, servers, {.name = "warm-ours"}, Seconds(0), plan.warm_up / 4);
  play(theirs, servers, {.name = "warm"}, Seconds(0), plan.warm_up);
  measure_against_peer(setting, ours, theirs,
                       {.name = "hand_off_hold", .hold_us = 1000, .pause_us = 2000},
                       "hold 1 ms, pause 2 ms");
  measure_against_peer(setting, ours, theirs, {.name = "hand_off_hot"}, "no hold, no pause");
}

void measure_crowd(const Setting& setting) {
  const auto& [plan, system, servers, report, where, suffix] = setting;
  Crowd crowd = start(system.our_command, servers);
  Curve::Series series{.name = "Holdfast", .points = {}};
  for (const int waiters : {kProcesses, 64, 512}) {
    if (waiters < plan.waiters) series.points.push_back({static_cast<double>(waiters), {}});
  }
  series.points.push_back({static_cast<double>(plan.waiters), {}});
  Side small, large;
  for (int i = 0; i < plan.repetitions; ++i) {
    for (Curve::Point& point : series.points) {
      const int waiters = static_cast<int>(point.x);
      report.progress(format("%d waiters, %s: repetition %d", waiters, where.c_str(), i + 1));
      const Contest contest{
          .name = format("crowd-%d", waiters), .threads = waiters / kProcesses, .hold_us = 1000};
      // Everybody has come to wait by then.
      const Seconds warm_up = waiters > kProcesses ? plan.warm_up / 2 : plan.span / 4;
      const Outcome outcome = play(crowd, servers, contest, warm_up, plan.span);
      point.values.push_back(outcome.hand_offs.p50_us);
      if (waiters == kProcesses) small.add(outcome);
      if (waiters == plan.waiters) large.add(outcome);
    }
  }
  report.add(Curve{.name = "growth_waiters" + suffix,
                   .what = "gap p50, hold 1 ms, " + where,
                   .x_what = "waiters in 8 processes",
                   .unit = "us",
                   .series = {series},
                   .growth_at_most = {1.3}});
  report.add({.name = "crowd" + suffix,
              .what = format("hand-off p50, %d waiters; of %d, %s", plan.waiters, kProcesses,
                             where.c_str()),
              .values = ratios(large, small),
              .detail = format("%d: %s; %d: %s", plan.waiters, large.text().c_str(), kProcesses,
                               small.text().c_str()),
              .figures = {{"large_p50_us", median(large.p50_us)},
                          {"large_p99_us", median(large.p99_us)},
                          {"small_p50_us", median(small.p50_us)},
                          {"small_p99_us", median(small.p99_us)}}});
  report.add({.name = "crowd_events" + suffix,
              .what = format("events per hand-off, %d waiters, %s", plan.waiters, where.c_str()),
              .values = large.events,
              .bar = Bar{Bar::Side::at_most, 2},
              .detail = system.event_what,
              .figures = {{"small", median(small.events)}}});
}

void measure_workloads(const Setting& setting) {
  struct Workload {
    std::string_view name;
    void (*measure)(const Setting&);
  };
  constexpr Workload kWorkloads[] = {{"pairs", &measure_pairs},
                                     {"hand-off", &measure_hand_off},
                                     {"crowd", &measure_crowd},
                                     {"in-flight", &measure_in_flight},
                                     {"peers", &measure_peers}};
  for (const Workload& workload : kWorkloads) {
    if (!setting.plan.only.empty() && setting.plan.only != workload.name) continue;
    const Disturbance disturbance(setting.servers.processes());
    try {
      workload.measure(setting);
    } catch (const std::exception& error) {
      // The others may do better.
      setting.report.note(std::string(workload.name) + " failed, " + setting.where + ": " +
                          error.what());
    }
    setting.report.note_disturbance(std::string(workload.name) + setting.suffix,
                                    disturbance.so_far());
  }
}

}  // namespace holdfast::bench
