#include "lab/sim/brief_schedule.h"

#include <algorithm>
#include <map>

#include "lab/sim/brief_voter.h"
#include "lab/sim/registers.h"
#include "lease/validity.h"

namespace holdfast::lab::sim {

namespace {

using internal::SimRuntime;
using std::chrono::milliseconds;

constexpr Duration kTtl = milliseconds(200);
constexpr Duration kNodeTimeout = milliseconds(20);
constexpr Duration kFaultPhase = milliseconds(400);
constexpr Duration kPatience = std::chrono::seconds(4);
constexpr std::size_t kNodes = 3;
constexpr std::size_t kClients = 2;
constexpr int kRounds = 2;  // the last of them when all is well again

constexpr FaultKind kKinds[] = {FaultKind::loss,         FaultKind::slow,
                                FaultKind::drift,        FaultKind::client_skew,
                                FaultKind::client_pause, FaultKind::client_cut,
                                FaultKind::server_pause, FaultKind::server_jump};

class BriefStage;

class BriefProgram {
 public:
  BriefProgram(BriefStage& stage, std::size_t number);

  void start() { tasks_.spawn(run()); }
  SimRuntime& node() { return node_; }
  bool finished() const { return finished_; }
  bool believes() const { return believed_ && !node_.paused() && node_.now() < until_; }
  bool has_grant() const { return believed_; }
  void set_cut(std::size_t node, bool cut) { electorate_->set_cut(node, cut); }

 private:
  Task<void> run();
  Task<void> round(bool last);

  BriefStage& stage_;
  std::size_t number_;
  SimRuntime node_;
  BriefElectorate* electorate_ = nullptr;
  std::unique_ptr<Engine> engine_;
  bool believed_ = false;
  bool finished_ = false;
  BootTime until_{};
  TaskGroup tasks_;
};

class BriefStage final : public Stage {
 public:
  BriefStage(const QuorumModel& the_model, const Order& order, BriefMarks& the_marks)
      : Stage(order, the_marks.network, the_marks.faults),
        model(the_model),
        marks(the_marks),
        registers(Fencing::reads_and_writes, the_marks.refused_by_fence,
                  [this](Finding finding, const std::string& what) { find(finding, what); }),
        chaos_node_(world),
        chaos_(chaos_node_) {
    nodes.reserve(kNodes);
    for (std::size_t i = 0; i < kNodes; ++i) {
      nodes.push_back(std::make_unique<QuorumNode>(world, i, model.rules));
    }
    watch = [this](const ClaimId& id, const internal::quorum::Ballot& ballot) { hear(id, ballot); };
    for (std::size_t i = 0; i < kClients; ++i) {
      programs_.push_back(std::make_unique<BriefProgram>(*this, i));
    }
  }

  Outcome run() {
    draw_faults();
    for (auto& program : programs_) program->start();
    const BootTime end = world.now() + kFaultPhase + 2 * kPatience;
    const bool all_done = world.run(
        [this] {
          check_beliefs();
          return all_finished();
        },
        end);
    if (!all_done) {
      find(Finding::no_progress, "a client did not get the lock though all was well again");
    }
    for (const auto& node : nodes) marks.low_tokens += node->low_tokens;
    return finish();
  }

  std::uint64_t highest_token() const { return highest_; }
  // The token as the claim's holder knows it.
  Token see_grant(std::size_t client, const ClaimId& id, Token token, std::uint64_t floor) {
    ++marks.grants;
    if (model.rules.counter_tokens) token = Token(counters_[id]);
    if (keeps_history()) {
      note("then client " + std::to_string(client) + " is granted token " + token.str());
    }
    if (highest_ != 0) ++marks.hand_overs;
    if (std::find(tokens_.begin(), tokens_.end(), token.value()) != tokens_.end()) {
      find(Finding::bad_token, "the token " + token.str() + " was granted twice");
    } else if (token.value() <= floor) {
      find(Finding::bad_token, "the token " + token.str() + " is not higher than " +
                                   std::to_string(floor) + ", which was granted before");
    }
    check_overtaking(id, token);
    tokens_.push_back(token.value());
    highest_ = std::max(highest_, token.value());
    return token;
  }

  const QuorumModel& model;
  BriefMarks& marks;
  Registers registers;
  std::vector<std::unique_ptr<QuorumNode>> nodes;
  BriefWatch watch;

 private:
  bool all_finished() const {
    return std::all_of(programs_.begin(), programs_.end(),
                       [](const auto& program) { return program->finished(); });
  }

  // One or two of them: most violations need no more.
  void draw_faults() {
    const std::size_t count = 1 + decisions_.one_of(2);
    for (std::size_t i = 0; i < count; ++i) {
      const FaultKind kind = kKinds[decisions_.one_of(std::size(kKinds))];
      const double amount = decisions_.uniform();
      const Duration at = decisions_.up_to(kFaultPhase / 2);
      const std::size_t client = decisions_.one_of(kClients);
      const std::size_t node = decisions_.one_of(kNodes);
      if (!take(kind)) continue;
      const Duration length = decisions_.length(
          Duration(static_cast<Duration::rep>(amount * static_cast<double>(2 * kTtl.count()))));
      if (!draw_ambient(kind, amount)) chaos_.spawn(strike(kind, at, length, client, node));
    }
    network.set_faults(faults_);
    chaos_.spawn(heal());
  }

  // Faults that last for the whole phase.
  bool draw_ambient(FaultKind kind, double amount) {
    switch (kind) {
      case FaultKind::loss: faults_.loss = 0.3 * amount; break;
      case FaultKind::slow:
        faults_.slow = 0.4 * amount;
        faults_.max_slow_delay = 2 * kTtl;
        break;
      case FaultKind::drift:
        for (std::size_t i = 0; i < kNodes; ++i) {
          nodes[i]->runtime().set_clock_rate(i % 2 == 0 ? 1.0049 : 0.9951);
        }
        for (auto& program : programs_) program->node().set_clock_rate(0.9951);
        break;
      case FaultKind::client_skew: {
        // They propose small tokens, so that they often propose the same.
        constexpr Duration kFar = std::chrono::hours(24 * 365 * 60);
        for (auto& program : programs_) program->node().jump_wall_clock(-kFar);
        break;
      }
      default: return false;
    }
    if (keeps_history()) note(std::string("given ") + to_text(kind));
    return true;
  }

  Task<void> strike(FaultKind kind, Duration at, Duration length, std::size_t client,
                    std::size_t node) {
    co_await sleep_until(chaos_node_, chaos_node_.now() + at);
    if (keeps_history()) {
      note(std::string("when ") + to_text(kind) + ": client " + std::to_string(client) + ", node " +
           std::to_string(node) + ", " + std::to_string(length / milliseconds(1)) + " ms");
    }
    BriefProgram& victim = *programs_[client];
    if (kind == FaultKind::client_pause) {
      if (victim.has_grant() && length > kTtl) ++marks.pauses_beyond_ttl;
      victim.node().pause_for(length);
    } else if (kind == FaultKind::server_pause) {
      nodes[node]->runtime().pause_for(length);
    } else if (kind == FaultKind::server_jump) {
      nodes[node]->runtime().jump_wall_clock(length);
      // Two of three: then there is a second majority.
      nodes[(node + 1) % kNodes]->runtime().jump_wall_clock(length);
    } else {
      victim.set_cut(node, true);
      co_await sleep_until(chaos_node_, chaos_node_.now() + length);
      victim.set_cut(node, false);
    }
  }

  Task<void> heal() {
    co_await sleep_until(chaos_node_, chaos_node_.now() + kFaultPhase);
    network.set_faults(NetworkFaults{});
  }

  void hear(const ClaimId& id, const internal::quorum::Ballot& ballot) {
    using Kind = internal::quorum::Ballot::Kind;
    if (ballot.kind == Kind::busy) ++marks.busy_votes;
    if (model.rules.counter_tokens && ballot.kind == Kind::locked) {
      counters_[id] = std::max(counters_[id], ballot.fence);
    }
  }

  // While a majority keeps a claim's word since each of those nodes accepted its token, that is
  // the greatest token granted to anybody.
  void check_overtaking(const ClaimId& id, Token token) {
    for (const auto& first : nodes) {
      const auto held = first->held();
      if (!held || held->accepted == 0 || held->id == id || token.value() <= held->accepted)
        continue;
      const auto same = std::count_if(nodes.begin(), nodes.end(), [&](const auto& other) {
        const auto its = other->held();
        return its && its->id == held->id && its->accepted == held->accepted;
      });
      if (static_cast<std::size_t>(same) <= kNodes / 2) continue;
      find(Finding::bad_token, "the token " + token.str() + " was granted while " +
                                   std::to_string(held->accepted) + " is held on a majority");
      return;
    }
  }

  void check_beliefs() { see_overlap(programs_[0]->believes() && programs_[1]->believes()); }

  NetworkFaults faults_;
  SimRuntime chaos_node_;
  std::vector<std::unique_ptr<BriefProgram>> programs_;
  TaskGroup chaos_;
  std::vector<std::uint64_t> tokens_;
  std::map<ClaimId, std::uint64_t> counters_;
  std::uint64_t highest_ = 0;
};

BriefProgram::BriefProgram(BriefStage& stage, std::size_t number)
    : stage_(stage), number_(number), node_(stage.world), tasks_(node_) {
  auto electorate =
      std::make_unique<BriefElectorate>(node_, stage.nodes, stage.network, stage.watch);
  electorate_ = electorate.get();
  const internal::quorum::QuorumOptions options{.node_timeout = kNodeTimeout,
                                                .request_timeout = 2 * kTtl};
  engine_ = internal::quorum::make_quorum_engine(node_, std::move(electorate), options);
}

Task<void> BriefProgram::run() {
  for (int i = 1; i < kRounds; ++i) {
    co_await sleep_until(node_, node_.now() + stage_.up_to(milliseconds(20)));
    co_await round(false);
  }
  // When all is well again. Leftovers have ended by then, clock jumps aside.
  const BootTime well = BootTime(std::chrono::seconds(1000)) + kFaultPhase + 2 * kTtl;
  co_await sleep_until(node_, well + stage_.up_to(milliseconds(20)));
  co_await round(true);
}

Task<void> BriefProgram::round(bool last) {
  const Claim claim{.name = "lock", .id = internal::draw_claim_id(node_), .ttl = kTtl};
  // Most do not wait for long, and hold for a moment: asking in vain takes most of the time.
  const bool patient = last || stage_.uniform() < 0.2;
  const Duration patience = last ? kPatience : Duration(kTtl);
  const Wait wait{.deadline = Deadline::at(node_.now() + patience), .queue = patient};
  const Duration longest = !last && stage_.uniform() < 0.3 ? kTtl / 2 : milliseconds(3);
  const std::uint64_t floor = stage_.highest_token();
  const Result<Grant> grant = co_await engine_->acquire(claim, wait);
  if (!grant) {
    ++stage_.marks.refusals;
    if (grant.code() == Code::unknown) {
      ++stage_.marks.unknowns;
      static_cast<void>(co_await engine_->release(claim, Deadline::at(node_.now() + kTtl)));
    }
    co_return;
  }
  const internal::Validity validity = internal::validity_of(*grant, milliseconds(1));
  until_ = validity.lost_at;
  believed_ = true;
  const Token token = stage_.see_grant(number_, claim.id, grant->token, floor);
  if (node_.now() < until_) {
    const Registers::Read reads = stage_.registers.read(token);
    // While this is under way anything may happen, and nobody looks again.
    co_await sleep_until(node_, node_.now() + stage_.up_to(longest));
    stage_.registers.write(token, reads);
  }
  believed_ = false;
  finished_ = last;
  static_cast<void>(co_await engine_->release(claim, Deadline::at(node_.now() + kTtl)));
}

}  // namespace

Marks BriefMarks::list(const QuorumModel& model) const {
  Marks list = {{"messages", network.sent},
                {"messages lost", network.lost},
                {"messages slow", network.slow},
                {"grants", grants},
                {"not granted", refusals},
                {"unknown outcomes", unknowns},
                {"votes refused", busy_votes},
                {"tokens too low", low_tokens},
                {"changes of owner", hand_overs},
                {"pauses beyond the ttl while held", pauses_beyond_ttl},
                {"refused by the fence", refused_by_fence}};
  add_fault_marks(list, faults_of(model), faults);
  return list;
}

FaultSet BriefMarks::faults_of(const QuorumModel&) {
  FaultSet faults;
  for (const FaultKind kind : kKinds) faults.add(kind);
  return faults;
}

Outcome run_brief_schedule(const QuorumModel& model, const Order& order, BriefMarks& marks) {
  return BriefStage(model, order, marks).run();
}

}  // namespace holdfast::lab::sim
