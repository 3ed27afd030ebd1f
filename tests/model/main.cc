// redlock_model [--list] [--deep] [--all-history] [NAME…]: explores the runs of runs.h. Ends with 0
// if the protocol kept its promises, every mistake was refuted, and the runs exercised what they are
// about. --deep adds those that take minutes; --all-history does without reduce.h.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "explorer.h"
#include "properties.h"
#include "protocol.h"
#include "runs.h"

namespace holdfast::model {
namespace {

constexpr std::size_t kMaxStates = 150'000'000;

// Counts of what a run came across. A run without violations that saw none of this would say nothing.
struct Coverage {
  std::uint64_t states_with_grants = 0;
  std::uint64_t first_round = 0;   // grants by votes
  std::uint64_t second_round = 0;  // grants by the fence step
  std::uint64_t later_epoch = 0;   // grants in an epoch made by a rejoin
  std::uint64_t rejoins = 0;       // rejoins completed
  std::uint64_t refoundings = 0;   // refoundings completed at a node
  std::uint64_t late = 0;          // grants of a token below one that was granted already
};

class Redlock {
 public:
  using Key = model::Key;
  using State = model::State;
  using Step = model::Step;

  explicit Redlock(const Config& config) : config_(config) {}

  State first() const { return first_state(config_); }
  Key key(const State& state) const { return key_of(state, config_.sizes); }
  State state(const Key& key) const { return state_of(key, config_.sizes); }
  std::optional<std::string> violation(const State& state) const {
    return model::violation(config_, state);
  }
  template <typename F>
  void successors(const State& state, F f) {
    model::successors(config_, state, found_);
    for (const Successor& next : found_) f(next.step, next.state);
  }
  void saw(const Step& step, const State& after, bool is_new) {
    unsigned granted = 0;
    for (const Attempt& attempt : after.attempts) granted |= attempt.granted;
    if (is_new && granted != 0) ++coverage.states_with_grants;
    if (step.kind == Kind::kOpen) ++coverage.rejoins;
    if (step.kind == Kind::kAdopt) ++coverage.refoundings;
    if (step.granted == 0) return;
    ++(step.kind == Kind::kFence ? coverage.second_round : coverage.first_round);
    if (step.epoch > 1) ++coverage.later_epoch;
    if (granted >> step.granted != 0) ++coverage.late;
  }

  Coverage coverage;

 private:
  Config config_;
  std::vector<Successor> found_;
};

void print_way(const Run& run, const Outcome<Redlock>& outcome) {
  std::printf("  given %d nodes, epoch 1, F = 0 everywhere\n", run.config.sizes.nodes);
  for (const Step& step : outcome.steps) std::printf("  when  %s\n", sentence(step).c_str());
  std::printf("  then  %s\n", outcome.violation->c_str());
}

bool exercised(const Run& run, const Coverage& coverage) {
  if (coverage.states_with_grants == 0 || coverage.first_round == 0) return false;
  if (!run.config.one_guess && coverage.second_round == 0) return false;
  if (run.config.expiry && !run.config.one_guess && coverage.late == 0) return false;
  if (run.config.refounds && coverage.refoundings == 0) return false;
  return !run.config.lives() || (coverage.rejoins > 0 && coverage.later_epoch > 0);
}

bool as_expected(const Run& run, const Outcome<Redlock>& outcome, const Coverage& coverage) {
  if (!run.breaks.empty()) return outcome.violation && outcome.violation->starts_with(run.breaks);
  return outcome.complete && !outcome.violation && exercised(run, coverage);
}

bool perform(const Run& run, bool all_history) {
  const auto begin = std::chrono::steady_clock::now();
  Config config = run.config;
  if (all_history) config.forget = false;
  Redlock model(config);
  const Outcome<Redlock> outcome = explore(model, kMaxStates);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const Coverage& saw = model.coverage;

  const std::string name(run.name);
  const std::string what(run.what);
  std::printf("%s: %s\n", name.c_str(), what.c_str());
  std::printf("  states %zu%s, depth %d, violations %d, %.1f s\n", outcome.states,
              outcome.complete ? "" : " (stopped)", outcome.depth, outcome.violation ? 1 : 0,
              took.count());
  std::printf(
      "  states with grants %ju; steps that grant: by votes %ju, by the fence step %ju, in a later "
      "epoch %ju, below a token granted before %ju; rejoins completed %ju, refoundings %ju\n",
      std::uintmax_t{saw.states_with_grants}, std::uintmax_t{saw.first_round},
      std::uintmax_t{saw.second_round}, std::uintmax_t{saw.later_epoch}, std::uintmax_t{saw.late},
      std::uintmax_t{saw.rejoins}, std::uintmax_t{saw.refoundings});
  if (outcome.violation) print_way(run, outcome);
  const bool good = as_expected(run, outcome, saw);
  std::printf("  %s: %s\n", good ? "as expected" : "NOT AS EXPECTED",
              outcome.violation     ? "refuted"
              : !outcome.complete   ? "not explored to the end"
              : exercised(run, saw) ? "no violation"
                                    : "no violation, but too little was exercised");
  std::fflush(stdout);
  return good;
}

int run_all(const std::vector<std::string>& names, bool deep, bool all_history) {
  int bad = 0;
  std::size_t found = 0;
  for (const Run& run : runs()) {
    bool wanted = names.empty() && (deep || !run.deep);
    for (const std::string& name : names) wanted = wanted || name == run.name;
    if (!wanted) continue;
    ++found;
    if (!perform(run, all_history)) ++bad;
  }
  if (found < names.size() || found == 0) {
    std::fprintf(stderr, "no such run; --list names them\n");
    return 2;
  }
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace holdfast::model

int main(int argc, char** argv) {
  std::vector<std::string> names;
  bool deep = false;
  bool all_history = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--list") == 0) {
      for (const auto& run : holdfast::model::runs()) {
        std::printf("%s%s\n", std::string(run.name).c_str(), run.deep ? " (deep)" : "");
      }
      return 0;
    }
    if (std::strcmp(argv[i], "--deep") == 0) {
      deep = true;
    } else if (std::strcmp(argv[i], "--all-history") == 0) {
      all_history = true;
    } else {
      names.emplace_back(argv[i]);
    }
  }
  return holdfast::model::run_all(names, deep, all_history);
}
