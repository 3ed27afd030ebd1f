// Steps: the base of ClaimSteps and NodeSteps, with the state that they start from and the list that they
// add the following ones to.
#ifndef HOLDFAST_TESTS_MODEL_STEPS_H_
#define HOLDFAST_TESTS_MODEL_STEPS_H_

#include <cstdint>
#include <vector>

#include "protocol.h"

namespace holdfast::model {

constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

constexpr std::uint8_t bit(int index) { return static_cast<std::uint8_t>(1U << index); }

class Steps {
 public:
  Steps(const Config& config, const State& state, std::vector<Successor>& out)
      : config_(config), rules_(config.rules), state_(state), out_(out) {}

 protected:
  static Attempt& attempt_in(State& state, Claim claim) { return state.attempts[claim - 1U]; }
  const Attempt& attempt_of(Claim claim) const { return state_.attempts[claim - 1U]; }
  const Node& node(int n) const { return state_.nodes[at(n)]; }

  State& add(const Step& step) { return out_.emplace_back(Successor{step, state_}).state; }

  const Config& config_;
  const Rules& rules_;
  const State& state_;
  std::vector<Successor>& out_;
};

}  // namespace holdfast::model

#endif  // HOLDFAST_TESTS_MODEL_STEPS_H_
