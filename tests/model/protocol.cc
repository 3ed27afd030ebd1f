#include "protocol.h"

#include <algorithm>
#include <bit>

#include "reduce.h"

namespace holdfast::model {
namespace {

constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

constexpr std::uint8_t bit(int index) { return static_cast<std::uint8_t>(1U << index); }

// The steps from one state.
class Steps {
 public:
  Steps(const Config& config, const State& state, std::vector<Successor>& out)
      : config_(config), rules_(config.rules), state_(state), out_(out) {}

  void all() {
    for (Claim claim = 1; claim <= config_.sizes.claims; ++claim) attempt(claim);
    for (int n = 0; n < config_.sizes.nodes; ++n) {
      words(n);
      if (config_.lives()) lives(n);
    }
    if (config_.refounds) refound();
  }

 private:
  Attempt& attempt_in(State& state, Claim claim) { return state.attempts[claim - 1U]; }
  const Attempt& attempt_of(Claim claim) const { return state_.attempts[claim - 1U]; }
  const Node& node(int n) const { return state_.nodes[at(n)]; }

  State& add(const Step& step) { return out_.emplace_back(Successor{step, state_}).state; }

  void attempt(Claim claim) {
    if (attempt_of(claim).guess == 0) {
      begin(claim);
      return;
    }
    for (int n = 0; n < config_.sizes.nodes; ++n) {
      if (may_vote(n)) {
        vote(n, claim);
        if (config_.lives()) confirm(n, claim);
        fences(n, claim);
      }
    }
    if (!config_.expiry) ends(claim);
  }

  // The guess stands for the client's clock: it may be anything, stale ones included.
  void begin(Claim claim) {
    const Token most = config_.one_guess ? 1 : static_cast<Token>(config_.sizes.tokens);
    for (Token guess = 1; guess <= most; ++guess) {
      State& next = add({.kind = Kind::kBegin, .claim = claim, .token = guess});
      attempt_in(next, claim).guess = guess;
      if (config_.order_from_acceptance) continue;  // what comes first is accepted first
      for (Token token = 1; token <= greatest_granted(); ++token) {
        attempt_in(next, claim).too_late |= bit(token - 1);
      }
    }
  }

  Token greatest_granted() const {
    unsigned granted = 0;
    for (const Attempt& attempt : state_.attempts) granted |= attempt.granted;
    return static_cast<Token>(std::bit_width(granted));
  }

  // Votes name the epoch of the node: any other is refused, which changes nothing.
  bool may_vote(int n) const {
    if (node(n).marker != Marker::kOpen) return false;
    return !rules_.votes_need_established || (state_.established & bit(node(n).epoch - 1)) != 0;
  }

  void vote(int n, Claim claim) {
    const Node& before = node(n);
    if (before.word != 0 && before.word != claim) return;  // busy
    Token token = attempt_of(claim).guess;
    if (token <= before.floor) return;
    if (rules_.counters) {
      // Whoever asks twice gets the number that it has: the mistake is not a lost reply.
      if (before.fence == config_.sizes.tokens || has_number(before, claim)) return;
      token = before.fence + 1;
    }
    State& next = add(
        {.kind = Kind::kVote, .node = n, .claim = claim, .token = token, .epoch = before.epoch});
    Node& after = next.nodes[at(n)];
    if (after.word != claim) after.tenure = 0;
    after.word = claim;
    if (!attempt_of(claim).gave_up && !config_.one_guess) locked(next, n, claim);
    accept(next, n, claim, token);
  }

  // A holder wants one node more. The token is its own, since a majority accepted it for it.
  void confirm(int n, Claim claim) {
    const Node& before = node(n);
    if ((before.word != 0 && before.word != claim) || before.fence_of != 0) return;
    if (before.fence == 0 || before.fence <= before.floor) return;
    if ((attempt_of(claim).granted & bit(before.fence - 1)) == 0) return;
    State& next = add({.kind = Kind::kConfirm,
                       .node = n,
                       .claim = claim,
                       .token = before.fence,
                       .epoch = before.epoch});
    Node& after = next.nodes[at(n)];
    after.word = after.fence_of = claim;
    after.tenure = before.fence;
  }

  static bool has_number(const Node& node, Claim claim) {
    return node.replies[claim - 1U].accepted != 0;
  }

  // The claim may propose anew once a majority has locked for it in this epoch; it needs to know no
  // more for that.
  void locked(State& state, int n, Claim claim) {
    const std::uint8_t epoch = bit(state.nodes[at(n)].epoch - 1);
    state.nodes[at(n)].replies[claim - 1U].locked |= epoch;
    if (!has_locked_majority(state, claim, epoch)) return;
    for (int i = 0; i < config_.sizes.nodes; ++i) {
      state.nodes[at(i)].replies[claim - 1U].locked |= epoch;
    }
  }

  bool has_locked_majority(const State& state, Claim claim, std::uint8_t epoch) const {
    int count = 0;
    for (const Node& each : state.nodes) {
      if ((each.replies[claim - 1U].locked & epoch) != 0) ++count;
    }
    return count >= config_.majority();
  }

  // What the client saw of F decides which token it proposes; it may have seen anything.
  void fences(int n, Claim claim) {
    const Node& before = node(n);
    if (rules_.counters || config_.one_guess) return;
    if (config_.stops_when_granted && attempt_of(claim).granted != 0) return;
    if (rules_.fence_needs_word && before.word != claim) return;
    if (!has_locked_majority(state_, claim, bit(before.epoch - 1))) return;
    for (int t = attempt_of(claim).guess + 1; t <= config_.sizes.tokens; ++t) {
      const auto token = static_cast<Token>(t);
      if (!may_accept(before, claim, token) || token <= before.floor) continue;
      State& next = add(
          {.kind = Kind::kFence, .node = n, .claim = claim, .token = token, .epoch = before.epoch});
      accept(next, n, claim, token);
    }
  }

  bool may_accept(const Node& node, Claim claim, Token token) const {
    if (token != node.fence) return token > node.fence;
    return node.fence_of == claim || rules_.equal_token_of_another;
  }

  void accept(State& state, int n, Claim claim, Token token) {
    Node& node = state.nodes[at(n)];
    if (!may_accept(node, claim, token)) return;
    out_.back().step.accepted = true;
    node.fence = token;
    node.fence_of = claim;
    state.top = std::max(state.top, token);
    if (node.word == claim) node.tenure = token;

    Attempt& attempt = attempt_in(state, claim);
    if (attempt.gave_up || (attempt.granted & bit(token - 1)) != 0) return;
    if (config_.order_from_acceptance && !accepted_anywhere(state, claim, token) &&
        greatest_granted() > token) {
      attempt.too_late |= bit(token - 1);
    }
    node.replies[claim - 1U].accepted |=
        static_cast<std::uint16_t>(1U << accepted_bit(node.epoch, token));
    const Token granted =
        rules_.counters ? count_counters(state, claim) : count(state, claim, token, node.epoch);
    if (granted == 0) return;
    out_.back().step.granted = granted;
    attempt.granted |= bit(granted - 1);
    forget(state, claim, granted);
  }

  bool accepted_anywhere(const State& state, Claim claim, Token token) const {
    return std::any_of(state.nodes.begin(), state.nodes.end(),
                       [&](const Node& each) { return accepted_by(each, claim, token, 0); });
  }

  // Epoch 0 stands for any.
  static bool accepted_by(const Node& node, Claim claim, Token token, Epoch epoch) {
    const unsigned accepted = node.replies[claim - 1U].accepted;
    for (Epoch e = 1; e <= kMaxEpochs; ++e) {
      if ((epoch == 0 || epoch == e) && (accepted >> accepted_bit(e, token) & 1U) != 0) return true;
    }
    return false;
  }

  // The token if a majority accepted it.
  Token count(const State& state, Claim claim, Token token, Epoch epoch) const {
    int votes = 0;
    for (const Node& each : state.nodes) {
      if (accepted_by(each, claim, token, rules_.epochs_add_up ? Epoch{0} : epoch)) ++votes;
    }
    return votes >= config_.majority() ? token : Token{0};
  }

  // The greatest number that a majority gave.
  Token count_counters(const State& state, Claim claim) const {
    int votes = 0;
    unsigned numbers = 0;
    for (const Node& each : state.nodes) {
      const unsigned accepted = each.replies[claim - 1U].accepted;
      if (accepted != 0) ++votes;
      numbers |= accepted;
    }
    return votes >= config_.majority() ? static_cast<Token>(std::bit_width(numbers)) : Token{0};
  }

  // Who accepted what was granted does not matter any more: fewer states.
  void forget(State& state, Claim claim, Token token) {
    for (Node& each : state.nodes) {
      for (Epoch epoch = 1; epoch <= kMaxEpochs; ++epoch) {
        each.replies[claim - 1U].accepted &=
            static_cast<std::uint16_t>(~(1U << accepted_bit(epoch, token)));
      }
    }
  }

  // A word that may end at any time ends by release too: giving up needs steps of its own only where
  // words do not expire.
  void ends(Claim claim) {
    if (!attempt_of(claim).gave_up) {
      State& next = add({.kind = Kind::kGiveUp, .claim = claim});
      attempt_in(next, claim).gave_up = true;
      attempt_in(next, claim).releasing = true;
      for (Node& each : next.nodes) each.replies[claim - 1U] = {};
    } else if (rules_.reuses_claim_id && attempt_of(claim).granted == 0) {
      attempt_in(add({.kind = Kind::kRetry, .claim = claim}), claim).gave_up = false;
    }
  }

  void words(int n) {
    const Claim owner = node(n).word;
    if (owner == 0) return;
    if (!config_.expiry && !attempt_of(owner).releasing) return;
    const Kind kind = config_.expiry ? Kind::kExpire : Kind::kRelease;
    for (Claim heir = 0; heir <= config_.sizes.claims; ++heir) {
      if (heir != 0 && !may_inherit(heir, owner)) continue;
      Node& after = add({.kind = kind, .node = n, .claim = owner, .next = heir}).nodes[at(n)];
      after.word = heir;
      after.tenure = 0;
      if (rules_.fence_expires) after.fence = after.fence_of = 0;
    }
  }

  bool may_inherit(Claim heir, Claim owner) const {
    return config_.reservations && heir != owner && attempt_of(heir).guess != 0;
  }

  void lives(int n) {
    const Node& before = node(n);
    if (state_.wipes < config_.wipes && before.marker != Marker::kBlank) wipe(n);
    if (state_.restarts < config_.restarts) restart(n);
    if (state_.restores < config_.restores) {
      if (config_.copies) copy(n);
      restore(n);
    }
    if (before.marker != Marker::kOpen && !before.refounds) rejoin(n);
    if (before.marker == Marker::kJoining && !before.refounds) complete(n);
    if (before.marker == Marker::kJoining && before.refounds) finish(n);
    if (before.marker != Marker::kOpen) return;
    for (int epoch = before.epoch + 1; epoch <= state_.newest; ++epoch) {
      State& next = add({.kind = Kind::kRaise, .node = n, .epoch = static_cast<Epoch>(epoch)});
      Node& after = next.nodes[at(n)];
      after.epoch = static_cast<Epoch>(epoch);
      after.floor = std::max(after.floor, state_.floors[at(epoch - 1)]);
      establish(next);
    }
  }

  // ---- Restarts ---------------------------------------------------------------------------------

  static Copy copy_of(const Node& node) {
    return {.marker = node.marker,
            .epoch = node.epoch,
            .word = node.word,
            .fence = node.fence,
            .fence_of = node.fence_of,
            .floor = node.floor,
            .remembers = node.remembers};
  }

  // One node's copy is enough for the restore that is to come; the others keep their first one.
  void copy(int n) {
    for (int i = 0; i < config_.sizes.nodes; ++i) {
      if (i != n && node(i).copy != Copy()) return;
    }
    if (node(n).copy == copy_of(node(n))) return;
    add({.kind = Kind::kCopy, .node = n}).nodes[at(n)].copy = copy_of(node(n));
  }

  // Clients see that it is another process. It has its marker, but that is the other's.
  void restart(int n) {
    const Marker marker = node(n).marker;
    if (marker != Marker::kOpen && marker != Marker::kJoining) return;
    if (marker == Marker::kOpen && rules_.restarted_votes) return;
    State& next = add({.kind = Kind::kRestart, .node = n});
    ++next.restarts;
    close(next, n);
  }

  void close(State& next, int n) const {
    Node& after = next.nodes[at(n)];
    if (node(n).marker == Marker::kJoining && !node(n).refounds) end_reading(next, node(n).rejoin);
    after.marker = Marker::kClosed;
    after.refounds = after.has_read = false;
    after.rejoin = 0;
  }

  void restore(int n) {
    const Copy& old = node(n).copy;
    State& next = add({.kind = Kind::kRestore, .node = n, .token = old.fence, .epoch = old.epoch});
    ++next.restores;
    close(next, n);
    Node& after = next.nodes[at(n)];
    after.epoch = old.epoch;
    after.word = old.word;
    after.fence = old.fence;
    after.fence_of = old.fence_of;
    after.floor = old.floor;
    after.remembers = old.remembers;
    after.tenure = 0;
    if (old.marker == Marker::kBlank) after.marker = Marker::kBlank;
    if (old.marker == Marker::kOpen && rules_.restarted_votes) after.marker = Marker::kOpen;
    const int slot = free_slot();
    if (old.marker == Marker::kJoining && !rules_.restart_ends_rejoin && slot >= 0) {
      after.marker = Marker::kJoining;
      after.rejoin = static_cast<std::uint8_t>(slot);
    }
    if (next.restores == config_.restores) {
      for (Node& each : next.nodes) each.copy = Copy();
    }
  }

  // ---- Refounding -------------------------------------------------------------------------------

  bool may_refound(const Node& node) const {
    if (node.marker == Marker::kOpen) return false;
    if (node.marker == Marker::kJoining && node.has_read) return false;  // it is as good as open
    return node.remembers || !rules_.refounds_with_memory;
  }

  // Too few are open for a rejoin. Some of the closed ones get a new epoch, which names the process
  // that each of them is: it is nobody's but theirs, and no vote was ever given in it.
  void refound() {
    const int epoch = state_.newest + 1;
    if (epoch > config_.sizes.epochs) return;
    int open = 0;
    unsigned closed = 0;
    for (int i = 0; i < config_.sizes.nodes; ++i) {
      if (node(i).marker == Marker::kOpen) ++open;
      if (may_refound(node(i))) closed |= 1U << i;
    }
    for (unsigned set = closed; set != 0; set = (set - 1) & closed) {
      if (open + std::popcount(set) >= config_.majority()) begin_refounding(set, epoch);
    }
  }

  void begin_refounding(unsigned set, int epoch) {
    const auto e = static_cast<Epoch>(epoch);
    State& next = add({.kind = Kind::kRefound, .epoch = e, .other = static_cast<int>(set)});
    next.newest = e;
    next.floors[at(epoch - 1)] = rules_.refounds_by_clock ? state_.top : Token{0};
    for (int i = 0; i < config_.sizes.nodes; ++i) {
      if ((set >> i & 1U) == 0) continue;
      close(next, i);
      Node& after = next.nodes[at(i)];
      after.marker = Marker::kJoining;
      after.refounds = true;
      after.epoch = e;
      after.floor = std::max(after.floor, next.floors[at(epoch - 1)]);
      forget_claim(after);
    }
  }

  // It may have accepted the same token for another since the copy was taken.
  void forget_claim(Node& after) const {
    if (!rules_.restored_claim_stays || after.fence == 0) after.fence_of = 0;
  }

  // Whether a node that refounds may count on what another one has: it refuses all older epochs.
  bool stands_by(const Node& other, const Node& refounding) const {
    if (other.marker == Marker::kOpen) {
      return other.epoch >= refounding.epoch &&
             other.floor >= state_.floors[at(refounding.epoch - 1)];
    }
    return other.marker == Marker::kJoining && other.refounds && other.epoch == refounding.epoch;
  }

  void finish(int n) {
    const Node& before = node(n);
    if (before.has_read) {
      State& next =
          add({.kind = Kind::kOpen, .node = n, .token = before.fence, .epoch = before.epoch});
      Node& after = next.nodes[at(n)];
      after.marker = Marker::kOpen;
      after.refounds = after.has_read = false;
      after.remembers = true;
      establish(next);
      return;
    }
    unsigned others = 0;
    for (int i = 0; i < config_.sizes.nodes; ++i) {
      if (i != n && stands_by(node(i), before)) others |= 1U << i;
    }
    // More than a majority can only know more.
    for (unsigned set = others;; set = (set - 1) & others) {
      if (std::popcount(set) + 1 == config_.majority()) adopt(n, set);
      if (set == 0) break;
    }
  }

  void adopt(int n, unsigned set) {
    State& next = add({.kind = Kind::kAdopt, .node = n, .other = static_cast<int>(set)});
    Node& after = next.nodes[at(n)];
    after.has_read = true;
    for (int i = 0; i < config_.sizes.nodes; ++i) {
      if ((set >> i & 1U) == 0) continue;
      after.floor = std::max(after.floor, node(i).floor);
      if (node(i).fence <= after.fence) continue;
      after.fence = node(i).fence;
      after.fence_of = 0;
    }
    out_.back().step.token = after.fence;
  }

  void wipe(int n) {
    State& next = add({.kind = Kind::kWipe, .node = n});
    ++next.wipes;
    if (node(n).marker == Marker::kJoining && !node(n).refounds) end_reading(next, node(n).rejoin);
    Node& after = next.nodes[at(n)];
    after = Node{.marker = Marker::kBlank,
                 .epoch = 0,
                 .read_by = after.read_by,
                 .replies = after.replies,
                 .remembers = false,
                 .copy = after.copy};
  }

  // The node notes that it joins, before anything is asked of the others: whoever began before the
  // node's last life can no more complete. The epoch may be greater than it needs to be, because
  // the others are asked one by one. Another client may begin anew where one was left.
  void rejoin(int n) {
    const bool anew = node(n).marker == Marker::kJoining;
    const int slot = anew ? node(n).rejoin : free_slot();
    if (slot < 0) return;
    if (rules_.recovery != Recovery::kByEpoch) {
      if (!anew) become_joining(n, slot, 1);
      return;
    }
    const int least = rules_.rejoin_epoch_is_new ? least_epoch_of_majority(n) + 1 : 2;
    if (least == 1) return;  // too few of the others are open
    const int most = std::min<int>(state_.newest + 1, config_.sizes.epochs);
    for (int epoch = least; epoch <= most; ++epoch) {
      if (epoch != node(n).epoch) become_joining(n, slot, static_cast<Epoch>(epoch));
    }
  }

  int free_slot() const {
    unsigned used = 0;
    for (const Node& each : state_.nodes) {
      if (each.marker == Marker::kJoining && !each.refounds) used |= 1U << each.rejoin;
    }
    return std::countr_one(used) < 2 ? std::countr_one(used) : -1;
  }

  // Of the majorities of the others: the least of their greatest epochs. 0 if there is none.
  int least_epoch_of_majority(int n) const {
    std::array<int, kMaxNodes> epochs{};
    int open = 0;
    for (int i = 0; i < config_.sizes.nodes; ++i) {
      if (i != n && node(i).marker == Marker::kOpen) epochs[at(open++)] = node(i).epoch;
    }
    const int quorum = config_.rejoin_quorum();
    if (open < quorum) return 0;
    std::ranges::nth_element(epochs.begin(), epochs.begin() + quorum - 1, epochs.begin() + open);
    return epochs[at(quorum - 1)];
  }

  void become_joining(int n, int slot, Epoch epoch) {
    State& next = add({.kind = Kind::kRejoin, .node = n, .epoch = epoch});
    end_reading(next, slot);
    Node& after = next.nodes[at(n)];
    after.marker = Marker::kJoining;
    after.epoch = epoch;
    if (!after.remembers) after.fence = 0;
    forget_claim(after);
    after.rejoin = static_cast<std::uint8_t>(slot);
    next.newest = std::max(next.newest, epoch);
  }

  void complete(int n) {
    int read = 0;
    for (int i = 0; i < config_.sizes.nodes; ++i) {
      const bool done = (node(i).read_by & bit(node(n).rejoin)) != 0;
      if (done) ++read;
      if (i != n && !done) this->read(n, i);
    }
    if (read < config_.rejoin_quorum() && rules_.recovery != Recovery::kNone) return;
    State& next =
        add({.kind = Kind::kOpen, .node = n, .token = node(n).fence, .epoch = node(n).epoch});
    end_reading(next, node(n).rejoin);
    next.nodes[at(n)].marker = Marker::kOpen;
    next.nodes[at(n)].rejoin = 0;
    next.nodes[at(n)].remembers = true;
    establish(next);
  }

  void read(int n, int other) {
    const Node& source = node(other);
    if (source.marker != Marker::kOpen || rules_.recovery == Recovery::kNone) return;
    if (rules_.rejoin_bumps_others && source.epoch < node(n).epoch) return;
    State& next = add({.kind = Kind::kRead, .node = n, .token = source.fence, .other = other});
    next.nodes[at(other)].read_by |= bit(node(n).rejoin);
    Node& after = next.nodes[at(n)];
    after.floor = std::max(after.floor, source.floor);
    if (source.fence <= after.fence) return;
    after.fence = source.fence;
    after.fence_of = rules_.rejoin_copies_claim ? source.fence_of : Claim{0};
  }

  static void end_reading(State& state, int slot) {
    for (Node& each : state.nodes) each.read_by &= static_cast<std::uint8_t>(~bit(slot));
  }

  void establish(State& state) const {
    for (int epoch = 1; epoch <= state.newest; ++epoch) {
      int open = 0;
      for (int i = 0; i < config_.sizes.nodes; ++i) {
        const Node& each = state.nodes[at(i)];
        if (each.marker == Marker::kOpen && each.epoch >= epoch) ++open;
      }
      if (open >= config_.majority()) state.established |= bit(epoch - 1);
    }
  }

  const Config& config_;
  const Rules& rules_;
  const State& state_;
  std::vector<Successor>& out_;
};

std::string node_name(int n) { return "n" + std::to_string(n + 1); }

std::string nodes_in(int set) {
  std::string text;
  for (int n = 0; n < kMaxNodes; ++n) {
    if ((set >> n & 1) != 0) text += (text.empty() ? "" : ", ") + node_name(n);
  }
  return text.empty() ? "nobody" : text;
}

std::string accepted_text(const Step& step) {
  std::string text = step.accepted ? "accepted" : "not accepted";
  if (step.granted != 0)
    text += "; " + std::string(1, name_of(step.claim)) + " is granted token " +
            std::to_string(step.granted);
  return text;
}

}  // namespace

char name_of(Claim claim) { return static_cast<char>('A' + claim - 1); }

State first_state(const Config&) { return {}; }

void successors(const Config& config, const State& state, std::vector<Successor>& out) {
  out.clear();
  Steps(config, state, out).all();
  for (Successor& next : out) forget_what_cannot_matter(config, next.state);
}

std::string sentence(const Step& step) {
  const std::string who(1, step.claim == 0 ? '?' : name_of(step.claim));
  const std::string where = step.node < 0 ? "" : node_name(step.node);
  const std::string token = std::to_string(step.token);
  const std::string epoch = std::to_string(step.epoch);
  const std::string heir =
      step.next == 0 ? "" : ", reserved for " + std::string(1, name_of(step.next));
  switch (step.kind) {
    case Kind::kBegin:
      return who + " begins: votes for token " + token + " are on their way to all nodes";
    case Kind::kVote:
      return where + " executes " + who + "'s vote for " + token + " in epoch " + epoch +
             ": locked, " + accepted_text(step);
    case Kind::kFence:
      return where + " executes " + who + "'s fence step " + token + " in epoch " + epoch + ": " +
             accepted_text(step);
    case Kind::kConfirm:
      return where + " votes once more for " + who + ", which was granted " + token;
    case Kind::kExpire: return "the word of " + who + " ends on " + where + heir;
    case Kind::kGiveUp: return who + " is done or gives up: releases are on their way to all nodes";
    case Kind::kRetry: return who + " tries again under the same claim id";
    case Kind::kRelease: return where + " executes a release of " + who + heir;
    case Kind::kWipe: return where + " restarts empty";
    case Kind::kRejoin: return where + " begins to rejoin in epoch " + epoch;
    case Kind::kRaise: return where + " is raised to epoch " + epoch;
    case Kind::kRead:
      return "the rejoin of " + where + " reads F = " + token + " from " + node_name(step.other);
    case Kind::kCopy: return "somebody copies the data of " + where;
    case Kind::kRestart: return where + " restarts with its data";
    case Kind::kRestore:
      return where + " restarts with the copy: epoch " + epoch + ", F = " + token;
    case Kind::kRefound:
      return nodes_in(step.other) + " begin to rejoin together in epoch " + epoch;
    case Kind::kAdopt:
      return where + " reads F = " + token + " from itself and " + nodes_in(step.other);
    case Kind::kOpen: return where + " opens in epoch " + epoch + " with F = " + token;
  }
  return "?";
}

}  // namespace holdfast::model
