#include "lab/sim/quorum_schedule.h"

#include <algorithm>

#include "engines/quorum/tally.h"
#include "lab/sim/quorum_stage.h"

namespace holdfast::lab::sim {

using enum FaultKind;
using internal::quorum::majority_of;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::size_t kClientsOfQuorum = 3;

std::string label_of(const char* what, std::size_t number) {
  return std::string(what) + ' ' + std::to_string(number);
}

}  // namespace

QuorumStage::QuorumStage(const QuorumModel& the_model, const Order& order, QuorumMarks& the_marks)
    : Stage(order, the_marks.network, the_marks.faults),
      model(the_model),
      marks(the_marks),
      checker(
          nodes, the_marks.checker,
          [this](Finding finding, const std::string& what) { find(finding, what); },
          order.keep_history ? QuorumChecker::Tell([this](const std::string& what) { note(what); })
                             : QuorumChecker::Tell()),
      chaos_node_(world),
      chaos_(chaos_node_) {
  const std::size_t size = happens(0.6) ? 3 : 5;
  for (std::size_t i = 0; i < size; ++i) {
    nodes.push_back(std::make_unique<QuorumNode>(world, i, model.rules));
  }
  for (std::size_t i = 0; i < kClientsOfQuorum; ++i) {
    programs_.push_back(std::make_unique<QuorumProgram>(*this, i));
  }
}

void QuorumStage::find(Finding finding, const std::string& what) {
  Stage::find(finding, what);
  // These may be the way of a quorum, by its faults; anything else is the end.
  over_ = over_ || (finding != Finding::overlap && finding != Finding::harm_bare &&
                    finding != Finding::harm_write_fence);
}

Outcome QuorumStage::run() {
  draw_faults();
  for (auto& program : programs_) program->start();
  chaos_.spawn(inject());
  const BootTime end = world.now() + kFaultPhase + kSettling + 2 * kPatience;
  const bool all_done = world.run(
      [this] {
        check_beliefs();
        return over_ || std::all_of(programs_.begin(), programs_.end(),
                                    [](const auto& program) { return program->finished(); });
      },
      end);
  if (!all_done) find(Finding::no_progress, "a client did not get the lock");
  if (!over_) {
    static_cast<void>(world.run([] { return false; }, world.now() + 2 * kTtl));
    check_nothing_is_left();
  }
  for (const auto& node : nodes) {
    marks.reservations += node->reservations;
    marks.reservations_used += node->reservations_used;
    marks.low_tokens += node->low_tokens;
    marks.rejoins += node->rejoins;
    marks.refoundings += node->refoundings;
    marks.dead_waiters += node->unheard;
  }
  programs_.clear();
  return finish();
}

// ---- Faults ------------------------------------------------------------------------------------

// A random subset: a schedule with all of them at once seldom gets far.
void QuorumStage::draw_faults() {
  std::string given = "given " + std::to_string(nodes.size()) + " nodes";
  const auto draw = [&](double probability, const std::string& what) {
    const bool chosen = decisions_.happens(probability);
    if (chosen) given += ", " + what;
    return chosen;
  };
  const auto draw_kind = [&](FaultKind kind, double probability) {
    if (draw(probability, to_text(kind))) enabled_.add(kind);
  };
  for (const FaultKind kind : {loss, slow, drift, client_skew}) enabled_.add(kind);
  draw_network(given);
  sharing = draw(0.3, "readers");
  draw_kind(client_pause, 0.5);
  draw_kind(server_pause, 0.4);
  draw_kind(client_crash, 0.3);
  draw_kind(client_cut, 0.4);
  draw_kind(server_restart, 0.3);
  draw_kind(server_wipe, 0.4);
  draw_kind(server_restore, 0.3);
  // It is for exclusion alone: tokens must hold without it.
  if (enabled_.has(server_wipe) || enabled_.has(server_restore)) enabled_.add(unsafe_rejoin);
  if (strike(unsafe_rejoin, 0.4)) {
    given += ", no silence of nodes that rejoin";
    silence = Duration(0);
  }
  draw_kind(server_jump, 0.25);
  draw_kind(client_jump, 0.25);
  const bool just_then = draw(0.5, "loss of data above all just after a vote");
  if (enabled_.has(server_wipe) && just_then) {
    checker.on_accepted = [this](QuorumNode& node) {
      if (!healed_ && happens(0.1)) chaos_.spawn(wipe_soon(node));
    };
  }
  sound_ = !enabled_.has(server_jump) && silence == kTtl;
  // With more patience than the ttl, an attempt outlives the votes that it got.
  if (draw(0.5, "patient clients")) request_timeout = 3 * kTtl;
  draw_clocks(given);
  note(given);
}

void QuorumStage::draw_network(std::string& given) {
  NetworkFaults faults;
  const double loss_rate = 0.03 * decisions_.uniform();
  const double slow_rate = 0.15 * decisions_.uniform();
  if (strike(loss, 0.5)) {
    faults.loss = loss_rate;
    given += ", connections that break";
  }
  if (strike(slow, 0.5)) {
    faults.slow = slow_rate;
    given += ", a slow network";
  }
  network.set_faults(faults);
}

void QuorumStage::draw_clocks(std::string& given) {
  const std::uint64_t rates = decisions_.next();
  if (strike(drift, 0.6)) {
    given += ", clocks that run apart";
    // Half a per cent each way: as far apart as 1 % allows for.
    const auto rate = [&](std::size_t bit) { return rates >> bit & 1U ? 1.0049 : 0.9951; };
    for (auto& node : nodes) node->runtime().set_clock_rate(rate(node->number()));
    for (auto& program : programs_) program->node().set_clock_rate(rate(program->number() + 8));
  }
  if (strike(client_skew, 0.25)) {
    given += ", clients whose clocks are before 1970";
    // They propose small tokens, so that they often propose the same.
    constexpr Duration kFar = std::chrono::hours(24 * 365 * 60);
    for (auto& program : programs_) program->node().jump_wall_clock(-kFar);
  }
}

Task<void> QuorumStage::inject() {
  const BootTime until = chaos_node_.now() + kFaultPhase;
  while (chaos_node_.now() < until) {
    const Duration pause = decisions_.up_to(milliseconds(600));
    co_await sleep_until(chaos_node_, chaos_node_.now() + pause);
    strike_client(*programs_[decisions_.one_of(programs_.size())]);
    strike_node(*nodes[decisions_.one_of(nodes.size())]);
    strike_rack();
  }
  heal();
}

void QuorumStage::strike_client(QuorumProgram& victim) {
  const std::string who = label_of("client", victim.number());
  const Duration pause = decisions_.up_to(3 * kTtl);
  const Duration cut = decisions_.up_to(2 * kTtl);
  const std::size_t node = decisions_.one_of(nodes.size());
  const Duration far = decisions_.happens(0.2) ? Duration(std::chrono::hours(2)) : seconds(3);
  const Duration jump = decisions_.up_to(2 * far) - far;
  if (strike(client_pause, 0.4)) {
    const Duration span = decisions_.length(pause);
    if (victim.has_lease() && span > kTtl) ++marks.pauses_while_held;
    note("when " + who + " is paused for " + std::to_string(span / milliseconds(1)) + " ms");
    victim.node().pause_for(span);
  }
  if (strike(client_cut, 0.2)) {
    note("when " + who + " is cut off");
    chaos_.spawn(cut_off(victim, decisions_.length(cut)));
  }
  if (strike(client_cut, 0.4)) {
    note("when " + who + " is cut off from node " + std::to_string(node));
    chaos_.spawn(cut_off_at(victim, node, decisions_.length(cut)));
  }
  if (strike(client_crash, 0.1)) {
    note("when " + who + " crashes");
    victim.crash();
    victim.start();
  }
  if (strike(client_jump, 0.3)) {
    note("when the wall clock of " + who + " jumps");
    victim.node().jump_wall_clock(jump);
  }
}

void QuorumStage::strike_node(QuorumNode& victim) {
  const std::string who = label_of("node", victim.number());
  const Duration pause = decisions_.up_to(2 * kTtl);
  if (strike(server_pause, 0.4)) {
    note("when " + who + " is paused");
    victim.runtime().pause_for(decisions_.length(pause));
  }
  if (strike(server_restart, 0.3)) {
    note("when " + who + " restarts with its data");
    victim.restart();
    victim.runtime().pause_for(decisions_.length(pause / 4));
  }
  const bool wiped = decisions_.happens(0.3);
  if (enabled_.has(server_wipe) && wiped) wipe(victim);
  strike_data(victim);
  strike_clock(victim);
}

// Copies are made all the time; one of them comes back.
void QuorumStage::strike_data(QuorumNode& victim) {
  if (decisions_.happens(0.5)) victim.copy();
  // A copy of a node that was empty, or had not rejoined yet, is as good as none.
  const bool possible = victim.copy_remembers() || may_be_wiped(victim);
  const bool due = decisions_.happens(0.3) && enabled_.has(server_restore) && possible;
  if (!due || !take(server_restore)) return;
  data_was_lost_ = true;
  note("when " + label_of("node", victim.number()) + " restarts with older data");
  victim.restore();
}

void QuorumStage::strike_rack() {
  if (!strike(server_restart, 0.04)) return;
  ++marks.rack_restarts;
  note("when all nodes restart with their data");
  for (const auto& node : nodes) node->restart();
}

// Back by a few seconds only, in all: what is locked then stays so for that much longer.
void QuorumStage::strike_clock(QuorumNode& victim) {
  // With clients ahead as well, nodes could be led to tokens that others refuse for an hour.
  const bool far = decisions_.happens(0.1) && !enabled_.has(client_jump);
  const Duration near = decisions_.up_to(seconds(4)) - seconds(1);
  if (!strike(server_jump, 0.2)) return;
  const Duration by = far ? Duration(std::chrono::hours(2)) : decisions_.length(near);
  note("when the clock of node " + std::to_string(victim.number()) + " jumps by " +
       std::to_string(by / milliseconds(1)) + " ms");
  victim.runtime().jump_wall_clock(by);
}

void QuorumStage::wipe(QuorumNode& victim) {
  if (!may_be_wiped(victim) || !take(server_wipe)) return;
  data_was_lost_ = true;
  note("when node " + std::to_string(victim.number()) + " restarts without its data");
  victim.wipe();
  if (happens(0.3)) victim.runtime().pause_for(up_to(milliseconds(500)));
}

Task<void> QuorumStage::wipe_soon(QuorumNode& victim) {
  co_await sleep_until(chaos_node_, chaos_node_.now() + up_to(milliseconds(4)));
  if (!healed_) wipe(victim);
}

// If a majority is empty, a person has to decide.
bool QuorumStage::may_be_wiped(const QuorumNode& victim) const {
  const auto others = std::count_if(nodes.begin(), nodes.end(), [&](const auto& node) {
    const QuorumNode::Marker marker = node->marker();
    return node.get() != &victim && (marker.votes() || marker.remembers());
  });
  return static_cast<std::size_t>(others) >= majority_of(nodes.size());
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
  if (over_) return;
  std::size_t alone = 0;
  std::size_t shared = 0;
  for (auto& program : programs_) {
    const Claim* claim = program->believes();
    if (!claim) continue;
    ++(claim->mode == Mode::exclusive ? alone : shared);
    if (sound_ && !data_was_lost_ && checker.words_of(claim->id) < majority_of(nodes.size())) {
      find(Finding::broken_lease, "client " + std::to_string(program->number()) +
                                      " believes to hold the lock, and no majority has its word");
    }
  }
  see_overlap(alone > 1 || (alone == 1 && shared > 0));
}

void QuorumStage::check_nothing_is_left() {
  for (const auto& node : nodes) {
    if (!node->locked()) continue;
    find(Finding::stranded,
         "node " + std::to_string(node->number()) + " is locked, and nobody holds the lock");
  }
}

// ---- Marks -------------------------------------------------------------------------------------

Marks QuorumMarks::list(const QuorumModel& model) const {
  Marks list = {{"messages", network.sent},
                {"messages lost", network.lost},
                {"messages slow", network.slow},
                {"connections broken", voters.links.broken},
                {"messages overtaken by a reconnection", voters.links.overtaken},
                {"scripts sent twice", voters.sent_twice},
                {"votes asked for", voters.votes},
                {"votes without an answer", voters.silent},
                {"votes refused for the epoch", voters.closed},
                {"votes that came too late", checker.late_votes},
                {"split votes", checker.split_votes},
                {"votes given back to wait", voters.yields},
                {"tokens too low", low_tokens},
                {"tokens proposed again", voters.second_rounds},
                {"grants", checker.grants},
                {"grants counted after a higher one", checker.slow_grants},
                {"leases", leases},
                {"leases, shared", shared_leases},
                {"leases lost", losses},
                {"renewals", renewals},
                {"failed renewals", failed_renewals},
                {"busy", busy},
                {"cancelled", cancelled},
                {"unknown outcomes", unknowns},
                {"reservations", reservations},
                {"reservations used", reservations_used},
                {"dead waiters skipped", dead_waiters},
                {"pauses beyond the ttl while held", pauses_while_held},
                {"restarts of all nodes at once", rack_restarts},
                {"nodes that rejoined", rejoins},
                {"nodes that refounded", refoundings},
                {"refused by the fence", checker.refused_by_fence}};
  add_fault_marks(list, faults_of(model), faults);
  return list;
}

FaultSet QuorumMarks::faults_of(const QuorumModel&) {
  return FaultSet(loss, slow, drift, client_skew, client_pause, client_cut, client_crash,
                  client_jump, server_pause, server_restart, server_wipe, server_restore,
                  server_jump, unsafe_rejoin);
}

Outcome run_quorum_schedule(const QuorumModel& model, const Order& order, QuorumMarks& marks) {
  return QuorumStage(model, order, marks).run();
}

}  // namespace holdfast::lab::sim
