// hand-off: from release called in one of eight processes to the return of acquire in the next.
// crowd: the same among a thousand, and how many events are sent for it.
#include <stdexcept>

#include "bout.h"
#include "crowd.h"
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

// Throws if the peer does not know how to contend.
BoutOutcome contend(Crowd& crowd, const Servers& servers, const Bout& bout) {
  const BoutOutcome outcome =
      play(crowd, bout, difference_of([&servers] { return servers.events(); })).value();
  if (outcome.hand_offs.count == 0) throw std::runtime_error("the contest saw no hand-off");
  return outcome;
}

struct Side {
  std::vector<double> p50_us, p99_us, p999_us, per_s, events;
  void add(const BoutOutcome& outcome) {
    p50_us.push_back(outcome.hand_offs.p50_us);
    p99_us.push_back(outcome.hand_offs.p99_us);
    p999_us.push_back(outcome.hand_offs.p999_us);
    per_s.push_back(outcome.hand_offs.per_s);
    events.push_back(outcome.counted_each.value_or(0));
  }
  std::string text() const {
    return format("p50 %.0f, p99 %.0f, p99.9 %.0f us, %.0f owners/s, %.2f events each",
                  median(p50_us), median(p99_us), median(p999_us), median(per_s), median(events));
  }
};

std::vector<double> ratios(const Side& of, const Side& to) {
  std::vector<double> all;
  for (std::size_t i = 0; i < of.p50_us.size(); ++i) all.push_back(of.p50_us[i] / to.p50_us[i]);
  return all;
}

void measure_against_peer(const Setting& setting, Crowd& our_crowd, Crowd& peer_crowd,
                          const Bout& contest, const std::string& what) {
  const auto& [plan, system, servers, report, where, suffix] = setting;
  Side ours, theirs;
  for (int i = 0; i < plan.repetitions; ++i) {
    report.progress(format("hand-off, %s: repetition %d", where.c_str(), i + 1));
    Bout own = contest;
    own.name = contest.name + "-ours";
    ours.add(contend(our_crowd, servers, own));
    theirs.add(contend(peer_crowd, servers, contest));
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
                          {"ours_p999_us", median(ours.p999_us)},
                          {"ours_owners_per_s", median(ours.per_s)},
                          {"theirs_p50_us", median(theirs.p50_us)},
                          {"theirs_p99_us", median(theirs.p99_us)},
                          {"theirs_p999_us", median(theirs.p999_us)},
                          {"theirs_owners_per_s", median(theirs.per_s)}}});
}

}  // namespace

void measure_hand_off(const Setting& setting) {
  const auto& [plan, system, servers, report, where, suffix] = setting;
  if (system.peer_command.empty()) return;
  Crowd ours = start(system.our_command, servers);
  Crowd theirs = start(system.peer_command, servers);
  play(ours, {.name = "warm-ours", .span = plan.warm_up / 4});
  play(theirs, {.name = "warm", .span = plan.warm_up});
  Bout hold{.name = "hand_off_hold", .hold_us = 1000, .pause_us = 2000};
  Bout hot{.name = "hand_off_hot"};
  hold.warm_up = hot.warm_up = plan.span / 2;
  hold.span = hot.span = 1.4 * plan.span;
  measure_against_peer(setting, ours, theirs, hold, "hold 1 ms, pause 2 ms");
  measure_against_peer(setting, ours, theirs, hot, "no hold, no pause");
}

void measure_growth(const Setting& setting) {
  const auto& [plan, system, servers, report, where, suffix] = setting;
  std::vector<std::string> command = system.our_command;
  command.push_back(servers.url());
  const std::vector<CrowdPoint> points = measure_crowd(
      {.suffix = suffix,
       .where = where,
       // (On several servers the two ends suffice.)
       .waiters = suffix.empty() ? CrowdPlan().waiters : std::vector<int>{8},
       .most = plan.waiters,
       .repetitions = plan.repetitions,
       .span = 1.4 * plan.span},
      command, report, [] {}, difference_of([&servers] { return servers.events(); }));
  const CrowdPoint& small = points.front();
  const CrowdPoint& large = points.back();
  report.add(
      {.name = "crowd_events" + suffix,
       .what = format("events per hand-off, %d waiters, %s", plan.waiters, where.c_str()),
       .values = large.counted_each,
       .bar = Bar{Bar::Side::at_most, 2},
       .detail = format("%s; %d waiters: %s; %d: %s", system.event_what.c_str(), large.waiters,
                        large.text().c_str(), small.waiters, small.text().c_str()),
       .figures = {{"small", median(small.counted_each)},
                   {"large_p50_us", median(large.p50_us)},
                   {"small_p50_us", median(small.p50_us)}}});
}

void measure_workloads(const Setting& setting) {
  struct Workload {
    std::string_view name;
    void (*measure)(const Setting&);
  };
  constexpr Workload kWorkloads[] = {{"pairs", &measure_pairs},  {"hand-off", &measure_hand_off},
                                     {"crowd", &measure_growth}, {"in-flight", &measure_in_flight},
                                     {"peers", &measure_peers},  {"held", &measure_held_leases}};
  for (const Workload& workload : kWorkloads) {
    if (!setting.plan.wants(workload.name)) continue;
    const Disturbance disturbance(setting.servers.processes());
    setting.report.attempt(std::string(workload.name) + ", " + setting.where,
                           [&] { workload.measure(setting); });
    setting.report.note_disturbance(std::string(workload.name) + setting.suffix,
                                    disturbance.so_far());
  }
}

}  // namespace holdfast::bench
