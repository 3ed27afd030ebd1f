#include "reduce.h"

#include <span>

namespace holdfast::model {
namespace {

class Reducer {
 public:
  Reducer(const Config& config, State& state) : config_(config), state_(state) {}

  void attempt(Claim claim) {
    Attempt& attempt = state_.attempts[claim - 1U];
    for (Token token = 1; token <= config_.sizes.tokens; ++token) {
      const auto bit = static_cast<std::uint8_t>(1U << (token - 1));
      if ((attempt.granted & bit) != 0) {
        if (attempt.granted >> token != 0 && is_history(claim, token)) {
          attempt.granted &= static_cast<std::uint8_t>(~bit);
        }
      } else if (!can_be_granted(claim, token)) {
        forget_replies(claim, token);
        attempt.too_late &= static_cast<std::uint8_t>(~bit);
      }
    }
  }

 private:
  // A token that is not its claim's greatest, that no other can get, and with which its claim cannot
  // be intact any more.
  bool is_history(Claim claim, Token token) const {
    for (Claim other = 1; other <= config_.sizes.claims; ++other) {
      if (other != claim && can_be_granted(other, token)) return false;
    }
    return !can_be_intact(claim, token);
  }

  bool can_be_granted(Claim claim, Token token) const {
    for (Epoch epoch = 1; epoch <= config_.sizes.epochs; ++epoch) {
      int possible = wipes_left();
      for (const Node& node : nodes()) {
        const unsigned accepted = node.replies[claim - 1U].accepted;
        const bool has = (accepted >> accepted_bit(epoch, token) & 1U) != 0;
        if (has || can_accept(node, claim, token, epoch)) ++possible;
      }
      if (possible >= config_.majority()) return true;
    }
    return false;
  }

  bool can_be_intact(Claim claim, Token token) const {
    int possible = wipes_left();
    for (const Node& node : nodes()) {
      if (node.tenure == token || can_accept(node, claim, token, kMaxEpochs)) ++possible;
    }
    return possible >= config_.majority();
  }

  // In this life of the node.
  bool can_accept(const Node& node, Claim claim, Token token, Epoch epoch) const {
    if (node.marker != Marker::kOpen) return true;
    if (node.epoch > epoch || node.fence > token) return false;
    if (node.fence < token) return true;
    return node.fence_of == claim || config_.rules.equal_token_of_another;
  }

  // Nodes that may yet go back.
  int wipes_left() const {
    return config_.wipes - state_.wipes + config_.restores - state_.restores;
  }

  std::span<const Node> nodes() const {
    return std::span<const Node>(state_.nodes).first(static_cast<std::size_t>(config_.sizes.nodes));
  }

  void forget_replies(Claim claim, Token token) {
    for (Node& node : state_.nodes) {
      for (Epoch epoch = 1; epoch <= config_.sizes.epochs; ++epoch) {
        node.replies[claim - 1U].accepted &=
            static_cast<std::uint16_t>(~(1U << accepted_bit(epoch, token)));
      }
    }
  }

  const Config& config_;
  State& state_;
};

}  // namespace

void forget_what_cannot_matter(const Config& config, State& state) {
  const Rules& rules = config.rules;
  // There a node does go back.
  if (!config.forget || rules.counters || rules.epochs_add_up || rules.fence_expires) return;
  Reducer reducer(config, state);
  for (Claim claim = 1; claim <= config.sizes.claims; ++claim) reducer.attempt(claim);
}

}  // namespace holdfast::model
