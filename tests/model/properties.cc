#include "properties.h"

#include <bit>

#include "protocol.h"

namespace holdfast::model {
namespace {

using Found = std::optional<std::string>;

std::string name(Claim claim) { return std::string(1, name_of(claim)); }

// Calls f(claim, token) for every grant, until it finds something.
template <typename F>
Found each_grant(const Config& config, const State& state, F f) {
  for (Claim claim = 1; claim <= config.sizes.claims; ++claim) {
    const unsigned granted = state.attempts[claim - 1U].granted;
    for (Token token = 1; granted >> (token - 1) != 0; ++token) {
      if ((granted >> (token - 1) & 1U) == 0) continue;
      if (Found found = f(claim, token)) return found;
    }
  }
  return {};
}

// Of the claims other than this one: the greatest token granted, and to whom.
struct Greatest {
  Token token = 0;
  Claim claim = 0;
};
Greatest greatest_of_others(const Config& config, const State& state, Claim but) {
  Greatest greatest;
  for (Claim claim = 1; claim <= config.sizes.claims; ++claim) {
    const auto token = static_cast<Token>(std::bit_width(state.attempts[claim - 1U].granted));
    if (claim != but && token > greatest.token) greatest = {token, claim};
  }
  return greatest;
}

Found not_unique(const Config& config, const State& state) {
  for (Claim a = 1; a <= config.sizes.claims; ++a) {
    for (Claim b = 1; b < a; ++b) {
      const unsigned both = state.attempts[a - 1U].granted & state.attempts[b - 1U].granted;
      if (both == 0) continue;
      return "unique: " + name(b) + " and " + name(a) + " both have token " +
             std::to_string(std::bit_width(both));
    }
  }
  return {};
}

Found out_of_order(const Config& config, const State& state) {
  return each_grant(config, state, [&](Claim claim, Token token) -> Found {
    if ((state.attempts[claim - 1U].too_late >> (token - 1) & 1U) == 0) return {};
    return "order: " + name(claim) + " is granted " + std::to_string(token) +
           ", not more than a token granted before " +
           (config.order_from_acceptance ? "any node had accepted it" : name(claim) + " began");
  });
}

Found intact_but_overtaken(const Config& config, const State& state) {
  return each_grant(config, state, [&](Claim claim, Token token) -> Found {
    int keeping = 0;
    int words = 0;
    for (const Node& node : state.nodes) {
      if (node.word == claim && node.tenure == token) ++keeping;
      if (node.word == claim) ++words;
    }
    const Greatest other = greatest_of_others(config, state, claim);
    if (other.token <= token) return {};
    const std::string overtaken = name(other.claim) + " has token " + std::to_string(other.token) +
                                  " while " + name(claim) + " with " + std::to_string(token);
    if (keeping >= config.majority())
      return "intact: " + overtaken + " keeps its majority unbroken";
    if (config.words_alone_protect && words == config.sizes.nodes) {
      return "words alone: " + overtaken + " has the word on all nodes";
    }
    return {};
  });
}

Found current_but_overtaken(const Config& config, const State& state) {
  for (const Node& one : state.nodes) {
    if (one.marker != Marker::kOpen || one.fence_of == 0) continue;
    int same = 0;
    for (const Node& node : state.nodes) {
      if (node.marker == Marker::kOpen && node.fence == one.fence &&
          node.fence_of == one.fence_of) {
        ++same;
      }
    }
    const Greatest other = greatest_of_others(config, state, one.fence_of);
    if (same < config.majority() || other.token <= one.fence) continue;
    return "current: " + name(other.claim) + " has token " + std::to_string(other.token) +
           " while a majority has F = (" + std::to_string(one.fence) + ", " + name(one.fence_of) +
           ")";
  }
  return {};
}

Found not_exclusive(const Config& config, const State& state) {
  Claim holder = 0;
  for (Claim claim = 1; claim <= config.sizes.claims; ++claim) {
    const Attempt& attempt = state.attempts[claim - 1U];
    if (attempt.granted == 0 || attempt.gave_up) continue;
    if (holder != 0)
      return "exclusion: " + name(holder) + " and " + name(claim) + " both hold the lock";
    holder = claim;
  }
  return {};
}

}  // namespace

std::optional<std::string> violation(const Config& config, const State& state) {
  if (Found found = not_unique(config, state)) return found;
  if (Found found = out_of_order(config, state)) return found;
  if (!config.rules.counters) {
    if (Found found = intact_but_overtaken(config, state)) return found;
    if (Found found = current_but_overtaken(config, state)) return found;
  }
  if (!config.expiry && !config.lives()) return not_exclusive(config, state);
  return {};
}

}  // namespace holdfast::model
