// ClaimSteps: votes, fence steps and releases of claims, and the ends of their words.
#ifndef HOLDFAST_TESTS_MODEL_CLAIM_STEPS_H_
#define HOLDFAST_TESTS_MODEL_CLAIM_STEPS_H_

#include <algorithm>
#include <bit>

#include "steps.h"

namespace holdfast::model {

class ClaimSteps : private Steps {
 public:
  using Steps::Steps;

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

 private:
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
      // A claim that asks twice gets the number that it has: the mistake is not a lost reply.
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

  // The values of F that the client saw decide which token it proposes; it may have seen anything.
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

  // It does not matter any more which nodes accepted the grant: fewer states.
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

  bool may_inherit(Claim heir, Claim owner) const {
    return config_.reservations && heir != owner && attempt_of(heir).guess != 0;
  }
};

}  // namespace holdfast::model

#endif  // HOLDFAST_TESTS_MODEL_CLAIM_STEPS_H_
