#include "lab/sim/store_schedule.h"

#include <algorithm>

#include "lab/sim/session_store.h"
#include "lab/sim/store_stage.h"
#include "lab/sim/table_store.h"

namespace holdfast::lab::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

StoreStage::StoreStage(const StoreModel& the_model, const Order& order, StoreMarks& the_marks)
    : Stage(order, the_marks.network, the_marks.faults),
      model(the_model),
      marks(the_marks),
      registers(the_model.full_fence, the_marks.refused_by_fence,
                [this](Finding finding, const std::string& what) { find(finding, what); }),
      server_node(world),
      plain_word(server_node),
      replica_node_(world),
      judge_(world, the_model.ttl / 2,
             [this] { find(Finding::unfair, "a newcomer overtook a client that waits"); }),
      chaos_node_(world),
      chaos_(chaos_node_) {
  if (model.replica) {
    replica_ = std::make_unique<Replica>(server_node, replica_node_, model.rules, network, server);
  } else {
    if (model.kind == StoreModel::Kind::sessions) {
      store_ = std::make_unique<SessionStore>(server_node);
    } else if (model.kind == StoreModel::Kind::table) {
      store_ = std::make_unique<TableStore>(server_node);
    } else {
      store_ = std::make_unique<SimStore>(server_node, model.rules);
    }
    server = SimServer{&server_node, store_.get()};
    store_->watch_line(&judge_);
  }
  for (std::size_t i = 0; i < kClients; ++i) {
    programs_.push_back(std::make_unique<StoreProgram>(*this, i));
  }
}

Outcome StoreStage::run() {
  draw_faults();
  for (auto& program : programs_) program->start();
  chaos_.spawn(inject());
  const BootTime end = world.now() + fault_phase() + healed_phase();
  const bool all_done = world.run(
      [this] {
        check_beliefs();
        return healed_ && all_finished();
      },
      end);
  if (!all_done) {
    const bool held = std::any_of(programs_.begin(), programs_.end(),
                                  [](const auto& program) { return program->has_lease(); });
    const bool locked = model.recipe != NaiveRecipe::none ? plain_word.get().has_value()
                                                          : server.store->holder().has_value();
    if (locked && !held) {
      find(Finding::stranded, "the lock is taken for ever, and nobody holds it");
    } else {
      find(Finding::no_progress, "a client did not get the lock though all was well again");
    }
  }
  programs_.clear();
  return finish();
}

bool StoreStage::all_finished() const {
  return std::all_of(programs_.begin(), programs_.end(),
                     [](const auto& program) { return program->finished(); });
}

// ---- Faults ------------------------------------------------------------------------------------

// A random subset of faults: a schedule with all of them at once seldom gets far.
void StoreStage::draw_faults() {
  for (int i = 0; i < kFaultKinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    const bool drawn = decisions_.happens(0.45);
    if (drawn && model.faults.has(kind)) enabled_.add(kind);
  }
  draw_network();
  draw_clocks();
}

void StoreStage::draw_network() {
  NetworkFaults faults;
  const double loss = 0.2 * decisions_.uniform();
  const double duplication = 0.3 * decisions_.uniform();
  const double slow = 0.2 * decisions_.uniform();
  faults.max_slow_delay = 2 * model.ttl;
  if (strike(FaultKind::loss, 1)) faults.loss = loss, note("given a network that loses messages");
  if (strike(FaultKind::duplication, 1)) {
    faults.duplication = duplication;
    note("given a network that doubles messages");
  }
  if (strike(FaultKind::slow, 1)) faults.slow = slow, note("given a network that is slow at times");
  network.set_faults(faults);
}

void StoreStage::draw_clocks() {
  // Half a per cent each way: as far apart as 1 % allows for.
  const std::uint64_t rates = decisions_.next();
  const auto rate = [&](std::size_t bit) { return rates >> bit & 1U ? 1.0049 : 0.9951; };
  std::vector<Duration> skews(kClients);
  for (Duration& skew : skews) skew = decisions_.up_to(6 * model.ttl) - 3 * model.ttl;
  if (strike(FaultKind::drift, 1)) {
    note("given clocks that run apart by one per cent");
    server_node.set_clock_rate(rate(0));
    replica_node_.set_clock_rate(rate(1));
    for (std::size_t i = 0; i < kClients; ++i) programs_[i]->node().set_clock_rate(rate(i + 2));
  }
  if (strike(FaultKind::client_skew, 1)) {
    note("given clients whose wall clocks differ by seconds");
    for (std::size_t i = 0; i < kClients; ++i) programs_[i]->node().jump_wall_clock(skews[i]);
  }
}

Task<void> StoreStage::inject() {
  const BootTime until = chaos_node_.now() + fault_phase();
  while (chaos_node_.now() < until) {
    const Duration pause = decisions_.up_to(4 * model.ttl / 5);
    co_await sleep_until(chaos_node_, chaos_node_.now() + pause);
    strike_client(*programs_[decisions_.one_of(kClients)]);
    strike_server();
  }
  network.set_faults(NetworkFaults{});
  healed_ = true;
  note("when all is well again");
}

void StoreStage::strike_client(StoreProgram& victim) {
  const std::string who = keeps_history() ? "client " + std::to_string(victim.number()) : "";
  const Duration pause = decisions_.up_to(3 * model.ttl);
  const Duration cut = decisions_.up_to(2 * model.ttl);
  const bool sends = decisions_.happens(0.5);
  const Duration jump = decisions_.up_to(6 * model.ttl) - 3 * model.ttl;
  if (strike(FaultKind::client_pause, 0.4)) {
    const Duration span = decisions_.length(pause);
    if (victim.has_lease() && span > model.ttl) ++marks.pauses_while_held;
    note("when " + who + " is paused for " + std::to_string(span / milliseconds(1)) + " ms");
    victim.node().pause_for(span);
  }
  if (strike(FaultKind::client_cut, 0.3)) {
    note("when " + who + " is cut off");
    chaos_.spawn(cut_off(victim, decisions_.length(cut), false, false));
  }
  if (strike(FaultKind::one_way_cut, 0.3)) {
    note("when " + who + (sends ? " hears nothing any more" : " is heard no more"));
    chaos_.spawn(cut_off(victim, decisions_.length(cut), sends, !sends));
  }
  if (strike(FaultKind::client_jump, 0.2)) {
    note("when the wall clock of " + who + " jumps");
    victim.node().jump_wall_clock(jump);
  }
  if (strike(FaultKind::client_crash, 0.1)) {
    note("when " + who + " crashes and begins anew");
    victim.crash();
    victim.start();
  }
}

void StoreStage::strike_server() {
  const Duration pause = decisions_.up_to(2 * model.ttl);
  const Duration jump = decisions_.up_to(4 * model.ttl) - model.ttl;
  const Duration cut = decisions_.up_to(model.ttl);
  const bool token_too = decisions_.happens(0.5);
  if (strike(FaultKind::server_pause, 0.15)) {
    note("when the server is paused");
    server.node->pause_for(decisions_.length(pause));
  }
  if (strike(FaultKind::server_jump, 0.15)) {
    const Duration by = decisions_.length(jump);
    note("when the server's wall clock jumps by " + std::to_string(by / milliseconds(1)) + " ms");
    server.node->jump_wall_clock(by);
    server.store->on_clock_jump();
  }
  if (strike(FaultKind::server_restart, 0.1)) {
    note("when the server restarts with its data");
    server.store->restart();
    server.node->pause_for(decisions_.length(pause / 4));
  }
  if (strike(FaultKind::server_wipe, 0.1)) {
    note("when the server restarts empty");
    mark_loss();
    server.store->wipe();
    server.node->pause_for(decisions_.length(pause / 8));
  }
  if (strike(FaultKind::eviction, 0.15)) {
    note(token_too ? "when the word and the counter are evicted" : "when the word is evicted");
    mark_loss();
    server.store->evict(token_too);
  }
  if (strike(FaultKind::leader_change, 0.15)) {
    note("when another leader takes over");
    server.store->change_leader();
  }
  if (strike(FaultKind::failover, 0.15)) chaos_.spawn(fail_over(decisions_.length(cut)));
}

void StoreStage::mark_loss() {
  if (server.store->holder()) ++marks.lost_while_held;
}

Task<void> StoreStage::fail_over(Duration cut_before) {
  note("when replication is cut");
  replica_->cut_link();
  co_await sleep_until(chaos_node_, chaos_node_.now() + cut_before);
  note("when the replica takes over");
  mark_loss();
  replica_->fail_over();
}

Task<void> StoreStage::cut_off(StoreProgram& victim, Duration span, bool sends, bool hears) {
  victim.set_connected(sends, hears);
  co_await sleep_until(chaos_node_, chaos_node_.now() + span);
  victim.set_connected(true, true);
}

// ---- Checks ------------------------------------------------------------------------------------

void StoreStage::check_beliefs() {
  std::size_t holders = 0;
  for (auto& program : programs_) holders += program->believes() ? 1 : 0;
  see_overlap(holders > 1);
}

void StoreStage::see_grant(Token token, std::uint64_t floor) {
  if (highest_token_ != 0) ++marks.hand_overs;
  if (!tokens_.insert(token.value()).second) {
    find(Finding::bad_token, "the token " + token.str() + " was granted twice");
  } else if (token.value() <= floor) {
    find(Finding::bad_token, "the token " + token.str() + " is not higher than " +
                                 std::to_string(floor) + ", which was granted before");
  }
  highest_token_ = std::max(highest_token_, token.value());
}

// ---- Marks -------------------------------------------------------------------------------------

Marks StoreMarks::list(const StoreModel& model) const {
  Marks list = {{"messages", network.sent},
                {"messages lost", network.lost},
                {"messages doubled", network.duplicated},
                {"messages slow", network.slow},
                {"grants", grants},
                {"renewals", renewals},
                {"failed renewals", failed_renewals},
                {"leases lost", losses},
                {"unknown outcomes", unknowns},
                {"busy", busy},
                {"cancelled", cancelled},
                {"pauses beyond the ttl while held", pauses_while_held},
                {"changes of owner", hand_overs},
                {"refused by the fence", refused_by_fence}};
  add_fault_marks(list, model.faults, faults);
  using enum FaultKind;
  const bool loses =
      model.faults.has(server_wipe) || model.faults.has(eviction) || model.faults.has(failover);
  if (loses) list.push_back({"locks that the server lost", lost_while_held});
  return list;
}

Outcome run_store_schedule(const StoreModel& model, const Order& order, StoreMarks& marks) {
  return StoreStage(model, order, marks).run();
}

}  // namespace holdfast::lab::sim
