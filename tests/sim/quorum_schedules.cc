// Runs seeded schedules of the quorum engine (see lab/quorum_schedule.h) and says what came of them.
//   quorum_schedules COUNT [FIRST_SEED]        exit 0: no violation; 1: one, with its history
//   quorum_schedules --replay SEED             prints the history of one schedule
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "lab/quorum_schedule.h"

namespace {

using holdfast::lab::QuorumMarks;
using holdfast::lab::QuorumVerdict;

int replay(std::uint64_t seed) {
  QuorumMarks marks;
  const QuorumVerdict verdict = holdfast::lab::run_quorum_schedule(seed, marks, true);
  for (const std::string& line : verdict.history) std::printf("%s\n", line.c_str());
  return verdict.violations.empty() ? 0 : 1;
}

// A run in which a fault never bit has tested nothing.
bool print_marks(const QuorumMarks& marks) {
  const std::pair<const char*, std::uint64_t> all[] = {
      {"messages", marks.network.sent},
      {"messages lost", marks.network.lost},
      {"messages slow", marks.network.slow},
      {"connections broken", marks.voters.links.broken},
      {"messages overtaken by a reconnection", marks.voters.links.overtaken},
      {"scripts sent twice", marks.voters.sent_twice},
      {"votes asked for", marks.voters.votes},
      {"votes without an answer", marks.voters.silent},
      {"votes refused for the epoch", marks.voters.closed},
      {"votes that came too late", marks.checker.late_votes},
      {"split votes", marks.checker.split_votes},
      {"votes given back to wait", marks.voters.yields},
      {"tokens too low", marks.low_tokens},
      {"tokens proposed again", marks.voters.second_rounds},
      {"grants", marks.checker.grants},
      {"grants counted after a higher one", marks.checker.slow_grants},
      {"leases", marks.leases},
      {"leases, shared", marks.shared_leases},
      {"leases lost", marks.losses},
      {"renewals", marks.renewals},
      {"failed renewals", marks.failed_renewals},
      {"busy", marks.busy},
      {"cancelled", marks.cancelled},
      {"unknown outcomes", marks.unknowns},
      {"reservations", marks.reservations},
      {"reservations used", marks.reservations_used},
      {"dead waiters skipped", marks.dead_waiters},
      {"pauses of clients", marks.client_pauses},
      {"pauses beyond the ttl while held", marks.pauses_while_held},
      {"pauses of nodes", marks.node_pauses},
      {"crashes of clients", marks.crashes},
      {"partitions", marks.cuts},
      {"restarts of nodes", marks.restarts},
      {"nodes that lost their data", marks.wipes},
      {"nodes that rejoined", marks.rejoins},
      {"jumps of the nodes' clocks", marks.node_jumps},
      {"jumps of the clients' wall clocks", marks.client_jumps},
      {"refused by the fence", marks.checker.refused_by_fence},
      {"updates lost without a fence", marks.checker.lost_updates_without_fence}};
  bool complete = true;
  for (const auto& [name, count] : all) {
    std::printf("  %-38s %llu\n", name, static_cast<unsigned long long>(count));
    complete = complete && count > 0;
  }
  return complete;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--replay") == 0) {
    return replay(std::strtoull(argv[2], nullptr, 10));
  }
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  QuorumMarks marks;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const QuorumVerdict verdict = holdfast::lab::run_quorum_schedule(seed, marks, false);
    if (verdict.violations.empty()) continue;
    replay(seed);
    std::printf("violation: %s (schedule %llu of this run)\nreplay with: %s --replay %llu\n",
                verdict.violations.front().c_str(),
                static_cast<unsigned long long>(seed - first + 1), argv[0],
                static_cast<unsigned long long>(seed));
    return 1;
  }
  const double minutes = static_cast<double>(std::clock()) / CLOCKS_PER_SEC / 60;
  std::printf("no violation in %llu schedules (%.0f per minute of one processor)\n",
              static_cast<unsigned long long>(count), static_cast<double>(count) / minutes);
  if (!print_marks(marks)) {
    std::printf("a fault never happened: this run has tested too little\n");
    return 2;
  }
  return 0;
}
