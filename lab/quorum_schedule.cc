#include "lab/quorum_schedule.h"

#include <algorithm>
#include <sstream>

#include "engines/quorum/tally.h"
#include "lab/quorum_stage.h"

namespace holdfast::lab {

using internal::quorum::majority_of;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::size_t kClientsOfQuorum = 3;

std::string label_of(const char* what, std::size_t number) {
  return std::string(what) + ' ' + std::to_string(number);
}

}  // namespace

QuorumStage::QuorumStage(std::uint64_t seed, QuorumMarks& the_marks, bool keep_history)
    : marks(the_marks),
      world(seed),
      network(world, the_marks.network),
      checker(
          nodes, the_marks.checker, [this](const std::string& what) { violate(what); },
          keep_history ? QuorumChecker::Tell([this](const std::string& what) { note(what); })
                       : QuorumChecker::Tell()),
      keep_history_(keep_history),
      chaos_node_(world),
      chaos_(chaos_node_) {
  verdict_.seed = seed;
  const std::size_t size = happens(0.6) ? 3 : 5;
  for (std::size_t i = 0; i < size; ++i) nodes.push_back(std::make_unique<QuorumNode>(world, i));
  for (std::size_t i = 0; i < kClientsOfQuorum; ++i) {
    programs_.push_back(std::make_unique<QuorumProgram>(*this, i));
  }
}

void QuorumStage::violate(const std::string& what) {
  note("VIOLATION: " + what);
  verdict_.violations.push_back(what);
}

void QuorumStage::note(const std::string& what) {
  if (!keep_history_) return;
  std::ostringstream line;
  line.precision(4);
  line << std::fixed << std::chrono::duration<double>(world.now().time_since_epoch()).count() << ' '
       << what;
  verdict_.history.push_back(line.str());
}

QuorumVerdict QuorumStage::run() {
  draw_faults();
  for (auto& program : programs_) program->start();
  chaos_.spawn(inject());
  const BootTime end = world.now() + kFaultPhase + kSettling + 2 * kPatience;
  const bool all_done = world.run(
      [this] {
        check_beliefs();
        return !verdict_.violations.empty() ||
               std::all_of(programs_.begin(), programs_.end(),
                           [](const auto& program) { return program->finished(); });
      },
      end);
  if (!all_done) violate("the schedule did not come to its end: a client did not get the lock");
  if (verdict_.violations.empty()) {
    static_cast<void>(world.run([] { return false; }, world.now() + 2 * kTtl));
    check_nothing_is_left();
  }
  for (const auto& node : nodes) {
    marks.reservations += node->reservations;
    marks.reservations_used += node->reservations_used;
    marks.low_tokens += node->low_tokens;
    marks.rejoins += node->rejoins;
    marks.dead_waiters += node->unheard;
  }
  programs_.clear();
  return std::move(verdict_);
}

// ---- Faults ------------------------------------------------------------------------------------

// A random subset: a schedule with all of them at once seldom gets far.
void QuorumStage::draw_faults() {
  std::string given = "given " + std::to_string(nodes.size()) + " nodes";
  const auto draw = [&](double probability, const char* what) {
    const bool chosen = happens(probability);
    if (chosen) given += std::string(", ") + what;
    return chosen;
  };
  NetworkFaults faults;
  if (draw(0.5, "connections that break")) faults.loss = 0.03 * uniform();
  if (draw(0.5, "a slow network")) faults.slow = 0.15 * uniform();
  network.set_faults(faults);
  sharing = draw(0.3, "readers");
  pausing_clients_ = draw(0.5, "pauses of clients");
  pausing_nodes_ = draw(0.4, "pauses of nodes");
  crashing_ = draw(0.3, "crashes of clients");
  cutting_ = draw(0.4, "partitions");
  restarting_ = draw(0.3, "restarts of nodes");
  wiping_ = draw(0.4, "loss of data");
  // It is for exclusion alone: tokens must hold without it.
  if (wiping_ && draw(0.4, "no silence of nodes that rejoin")) silence = Duration(0);
  node_jumps_ = draw(0.25, "jumps of the nodes' clocks");
  client_jumps_ = draw(0.25, "jumps of the clients' wall clocks");
  if (wiping_ && draw(0.5, "above all just after a vote")) {
    checker.on_accepted = [this](QuorumNode& node) {
      if (!healed_ && happens(0.1)) chaos_.spawn(wipe_soon(node));
    };
  }
  sound_ = !node_jumps_ && silence == kTtl;
  // With more patience than the ttl, an attempt outlives the votes that it got.
  if (draw(0.5, "patient clients")) request_timeout = 3 * kTtl;
  if (draw(0.6, "clocks that run apart")) {
    // Half a per cent each way: as far apart as 1 % allows for.
    const auto rate = [&] { return happens(0.5) ? 1.0049 : 0.9951; };
    for (auto& node : nodes) node->runtime().set_clock_rate(rate());
    for (auto& program : programs_) program->node().set_clock_rate(rate());
  }
  if (draw(0.25, "clients whose clocks are before 1970")) {
    // They propose small tokens, so that they often propose the same.
    constexpr Duration kFar = std::chrono::hours(24 * 365 * 60);
    for (auto& program : programs_) program->node().jump_wall_clock(-kFar);
  }
  note(given);
}

Task<void> QuorumStage::inject() {
  const BootTime until = chaos_node_.now() + kFaultPhase;
  while (chaos_node_.now() < until) {
    co_await sleep_until(chaos_node_, chaos_node_.now() + up_to(milliseconds(600)));
    strike_client(*programs_[world.random().next() % programs_.size()]);
    strike_node(*nodes[world.random().next() % nodes.size()]);
  }
  heal();
}

void QuorumStage::strike_client(QuorumProgram& victim) {
  const std::string who = label_of("client", victim.number());
  if (pausing_clients_ && happens(0.4)) {
    const Duration span = up_to(3 * kTtl);
    ++marks.client_pauses;
    if (victim.has_lease() && span > kTtl) ++marks.pauses_while_held;
    note("when " + who + " is paused");
    victim.node().pause_for(span);
  }
  if (cutting_ && happens(0.2)) {
    ++marks.cuts;
    note("when " + who + " is cut off");
    chaos_.spawn(cut_off(victim, up_to(2 * kTtl)));
  }
  if (cutting_ && happens(0.4)) {
    ++marks.cuts;
    const std::size_t node = world.random().next() % nodes.size();
    note("when " + who + " is cut off from node " + std::to_string(node));
    chaos_.spawn(cut_off_at(victim, node, up_to(2 * kTtl)));
  }
  if (crashing_ && happens(0.1)) {
    ++marks.crashes;
    note("when " + who + " crashes");
    victim.crash();
    victim.start();
  }
  if (client_jumps_ && happens(0.3)) {
    ++marks.client_jumps;
    note("when the wall clock of " + who + " jumps");
    const Duration far = happens(0.2) ? Duration(std::chrono::hours(2)) : Duration(seconds(3));
    victim.node().jump_wall_clock(up_to(2 * far) - far);
  }
}

void QuorumStage::strike_node(QuorumNode& victim) {
  const std::string who = label_of("node", victim.number());
  if (pausing_nodes_ && happens(0.4)) {
    ++marks.node_pauses;
    note("when " + who + " is paused");
    victim.runtime().pause_for(up_to(2 * kTtl));
  }
  if (restarting_ && happens(0.3)) {
    ++marks.restarts;
    note("when " + who + " restarts with its data");
    victim.restart();
    victim.runtime().pause_for(up_to(milliseconds(500)));
  }
  if (wiping_ && happens(0.3)) wipe(victim);
  if (node_jumps_ && happens(0.2)) strike_clock(victim);
}

// Back by a few seconds only, in all: what is locked then stays so for that much longer.
void QuorumStage::strike_clock(QuorumNode& victim) {
  ++marks.node_jumps;
  // With clients ahead as well, nodes could be led to tokens that others refuse for an hour.
  const bool far = !client_jumps_ && happens(0.1);
  const Duration by = far ? Duration(std::chrono::hours(2)) : up_to(seconds(4)) - seconds(1);
  note("when the clock of node " + std::to_string(victim.number()) + " jumps by " +
       std::to_string(std::chrono::duration<double>(by).count()) + " s");
  victim.runtime().jump_wall_clock(by);
}

void QuorumStage::wipe(QuorumNode& victim) {
  if (!may_be_wiped(victim)) return;
  ++marks.wipes;
  data_was_lost_ = true;
  note("when node " + std::to_string(victim.number()) + " restarts without its data");
  victim.wipe();
  if (happens(0.3)) victim.runtime().pause_for(up_to(milliseconds(500)));
}

Task<void> QuorumStage::wipe_soon(QuorumNode& victim) {
  co_await sleep_until(chaos_node_, chaos_node_.now() + up_to(milliseconds(4)));
  if (!healed_) wipe(victim);
}

// Without enough others nobody knows the last token any more, and a person has to decide.
bool QuorumStage::may_be_wiped(const QuorumNode& victim) const {
  const auto others = std::count_if(nodes.begin(), nodes.end(), [&](const auto& node) {
    return node.get() != &victim && node->marker().votes();
  });
  return static_cast<std::size_t>(others) >= majority_of_others(nodes.size());
}

Task<void> QuorumStage::cut_off(QuorumProgram& victim, Duration span) {
  victim.set_cut(true);
  co_await sleep_until(chaos_node_, chaos_node_.now() + span);
  victim.set_cut(false);
}

Task<void> QuorumStage::cut_off_at(QuorumProgram& victim, std::size_t node, Duration span) {
  victim.set_cut_at(node, true);
  co_await sleep_until(chaos_node_, chaos_node_.now() + span);
  victim.set_cut_at(node, false);
}

Task<void> QuorumStage::cancel(std::stop_source source) {
  co_await sleep_until(chaos_node_, chaos_node_.now() + up_to(milliseconds(300)));
  source.request_stop();
}

void QuorumStage::heal() {
  network.set_faults(NetworkFaults{});
  healed_ = true;
  healed_at_ = world.now();
  note("when all is well again");
}

// ---- Checks ------------------------------------------------------------------------------------

void QuorumStage::check_beliefs() {
  if (!sound_ || !verdict_.violations.empty()) return;
  std::size_t alone = 0;
  std::size_t shared = 0;
  for (auto& program : programs_) {
    const Claim* claim = program->believes();
    if (!claim) continue;
    ++(claim->mode == Mode::exclusive ? alone : shared);
    if (!data_was_lost_ && checker.words_of(claim->id) < majority_of(nodes.size())) {
      violate("client " + std::to_string(program->number()) +
              " believes to hold the lock, and no majority has its word");
    }
  }
  if (alone > 1 || (alone == 1 && shared > 0)) violate("two clients believe to hold the lock");
}

void QuorumStage::check_nothing_is_left() {
  for (const auto& node : nodes) {
    if (node->locked()) {
      violate("node " + std::to_string(node->number()) + " is locked, and nobody holds the lock");
    }
  }
}

QuorumVerdict run_quorum_schedule(std::uint64_t seed, QuorumMarks& marks, bool keep_history) {
  return QuorumStage(seed, marks, keep_history).run();
}

}  // namespace holdfast::lab
