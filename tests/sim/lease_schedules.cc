// Runs seeded schedules of the lease (see lab/lease_schedule.h) and says what came of them.
//   lease_schedules COUNT [FIRST_SEED]        exit 0: no violation; 1: one, with its seed
//   lease_schedules --replay SEED             prints the history of one schedule
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "lab/lease_schedule.h"

namespace {

using holdfast::lab::LeaseMarks;
using holdfast::lab::LeaseVerdict;

int replay(std::uint64_t seed) {
  LeaseMarks marks;
  const LeaseVerdict verdict = holdfast::lab::run_lease_schedule(seed, marks, true);
  for (const std::string& line : verdict.history) std::printf("%s\n", line.c_str());
  return verdict.violations.empty() ? 0 : 1;
}

// A run in which a fault never bit has tested nothing.
bool print_marks(const LeaseMarks& marks) {
  const std::pair<const char*, std::uint64_t> all[] = {
      {"messages", marks.network.sent},
      {"messages lost", marks.network.lost},
      {"messages doubled", marks.network.duplicated},
      {"messages slow", marks.network.slow},
      {"grants", marks.grants},
      {"renewals", marks.renewals},
      {"failed renewals", marks.failed_renewals},
      {"leases lost", marks.losses},
      {"unknown outcomes", marks.unknowns},
      {"busy", marks.busy},
      {"cancelled", marks.cancelled},
      {"pauses", marks.pauses},
      {"pauses beyond the ttl while held", marks.pauses_while_held},
      {"crashes", marks.crashes},
      {"clients cut off", marks.cuts},
      {"changes of owner", marks.hand_overs}};
  bool complete = true;
  for (const auto& [name, count] : all) {
    std::printf("  %-34s %llu\n", name, static_cast<unsigned long long>(count));
    complete = complete && count > 0;
  }
  return complete;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--replay") == 0) {
    return replay(std::strtoull(argv[2], nullptr, 10));
  }
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10000;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  LeaseMarks marks;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const LeaseVerdict verdict = holdfast::lab::run_lease_schedule(seed, marks, false);
    if (verdict.violations.empty()) continue;
    std::printf("violation: %s\nreplay with: lease_schedules --replay %llu\n",
                verdict.violations.front().c_str(), static_cast<unsigned long long>(seed));
    return 1;
  }
  std::printf("no violation in %llu schedules\n", static_cast<unsigned long long>(count));
  if (!print_marks(marks)) {
    std::printf("a fault never happened: this run has tested too little\n");
    return 2;
  }
  return 0;
}
