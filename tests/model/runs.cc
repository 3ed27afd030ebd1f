#include "runs.h"

namespace holdfast::model {
namespace {

Sizes sizes(int nodes, int claims, int tokens, int epochs = 1) {
  return {.nodes = nodes, .claims = claims, .tokens = tokens, .epochs = epochs};
}

Config mistake(Config config, void (*make)(Rules&)) {
  make(config.rules);
  // Mistakes are shown by the order that everybody expects, not by the stricter one that holds.
  config.order_from_acceptance = false;
  config.stops_when_granted = true;
  return config;
}

Config reserved(Config config) {
  config.reservations = true;
  return config;
}

Config one_token(Config config) {
  config.sizes.tokens = 1;
  config.one_guess = true;
  return config;
}

std::vector<Run> make_runs() {
  const Config two{.sizes = sizes(3, 2, 4)};
  const Config three{.sizes = sizes(3, 3, 3)};
  const Config four{.sizes = sizes(4, 2, 3)};
  const Config five{.sizes = sizes(5, 2, 3)};
  const Config exclusive{.sizes = sizes(3, 3, 3), .expiry = false, .reservations = true};
  const Config one_wipe{.sizes = sizes(3, 2, 3, 2), .wipes = 1};
  const Config two_wipes{.sizes = sizes(3, 2, 2, 3), .wipes = 2};
  const Config five_wipes{
      .sizes = sizes(5, 2, 1, 3), .wipes = 2, .expiry = false, .one_guess = true};
  Config four_wipes = five_wipes;
  four_wipes.sizes.nodes = 4;
  Config five_wipes_small = five_wipes;
  five_wipes_small.sizes.epochs = 2;

  std::vector<Run> all;
  const auto holds = [&](std::string_view name, std::string_view what, const Config& config) {
    all.push_back({name, what, config, "", false});
  };
  const auto deep = [&](std::string_view name, std::string_view what, const Config& config) {
    all.push_back({name, what, config, "", true});
  };
  const auto refutes = [&](std::string_view name, std::string_view what, std::string_view breaks,
                           const Config& config, void (*make)(Rules&)) {
    all.push_back({name, what, mistake(config, make), breaks, false});
  };

  holds("RedlockThreeNodesTwoAttempts", "3 nodes, 2 attempts, tokens 1-4", two);
  holds("RedlockThreeNodesTwoAttemptsReserved", "the same with words that pass to a waiter",
        reserved(two));
  holds("RedlockThreeNodesThreeAttempts", "3 nodes, 3 attempts, tokens 1-3", three);
  holds("RedlockFourNodesTwoAttempts", "4 nodes, 2 attempts, tokens 1-3", four);
  holds("RedlockFiveNodesTwoAttempts", "5 nodes, 2 attempts, tokens 1-3", five);
  holds("RedlockExclusion", "3 nodes, 3 attempts, tokens 1-3, words end by release only",
        exclusive);
  holds("RedlockOneWipe", "3 nodes, 2 attempts, tokens 1-3, one node restarts empty", one_wipe);
  holds("RedlockTwoWipes", "3 nodes, 2 attempts, token 1 only, two empty restarts",
        one_token(two_wipes));
  holds("RedlockFourNodesTwoWipes", "4 nodes, 2 attempts, token 1 only, two empty restarts",
        four_wipes);
  holds("RedlockFiveNodesTwoWipes",
        "5 nodes, 2 attempts, token 1 only, two empty restarts, one new epoch", five_wipes_small);

  deep("RedlockOneWipeReserved", "RedlockOneWipe with words that pass to a waiter",
       reserved(one_wipe));
  deep("RedlockTwoWipesTwoTokens", "3 nodes, 2 attempts, tokens 1-2, two empty restarts",
       two_wipes);
  deep("RedlockFiveNodesTwoWipesTwoEpochs",
       "5 nodes, 2 attempts, token 1 only, two empty restarts, two new epochs", five_wipes);

  refutes("RefutesIncrMax", "INCR on each node, token = the greatest reply", "unique", two,
          [](Rules& rules) { rules.counters = true; });
  refutes("RefutesFenceWithoutWord", "the fence step does not ask for the word", "intact", two,
          [](Rules& rules) { rules.fence_needs_word = false; });
  refutes("RefutesEqualToken", "a node accepts t = F from another claim", "unique", two,
          [](Rules& rules) { rules.equal_token_of_another = true; });
  refutes("RefutesHalfIsEnough", "two votes of four", "unique", four,
          [](Rules& rules) { rules.half_is_enough = true; });
  refutes("RefutesFenceExpires", "F has the ttl of the word", "unique", two,
          [](Rules& rules) { rules.fence_expires = true; });
  refutes("RefutesEmptyRestart", "a node that restarted empty votes at once", "unique", one_wipe,
          [](Rules& rules) { rules.recovery = Recovery::kNone; });
  refutes("RefutesCopyMax",
          "an empty node copies F from a majority of the others, without an epoch", "unique",
          one_wipe, [](Rules& rules) { rules.recovery = Recovery::kCopyMax; });
  refutes("RefutesEpochNotBumped", "the new epoch is not made known to the others before F is read",
          "unique", one_wipe, [](Rules& rules) { rules.rejoin_bumps_others = false; });
  refutes("RefutesEpochOnMinority",
          "the new epoch is bumped, and F read, on a minority of the others", "unique", one_wipe,
          [](Rules& rules) { rules.rejoin_reads_majority = false; });
  refutes("RefutesEpochsAddUp", "votes of different epochs are added up", "unique", one_wipe,
          [](Rules& rules) { rules.epochs_add_up = true; });
  refutes("RefutesClaimCopied", "a rejoin restores the claim in F with its token", "unique",
          one_wipe, [](Rules& rules) { rules.rejoin_copies_claim = true; });
  refutes("RefutesStaleRejoinEpoch", "a rejoin takes an epoch in which the node may have voted",
          "unique", one_token(two_wipes), [](Rules& rules) { rules.rejoin_epoch_is_new = false; });
  refutes("RefutesVotesBeforeEstablished", "votes in an epoch that no majority has yet", "unique",
          five_wipes_small, [](Rules& rules) { rules.votes_need_established = false; });
  refutes("RefutesVotesBeforeEstablishedThreeNodes", "the same with three nodes", "unique",
          one_token(two_wipes), [](Rules& rules) { rules.votes_need_established = false; });
  refutes("RefutesReusedClaimId", "an attempt that gave up tries again under its old id",
          "exclusion", exclusive, [](Rules& rules) { rules.reuses_claim_id = true; });

  Config words_alone = two;
  words_alone.words_alone_protect = true;
  refutes("RefutesWordsAlone", "too strong a statement: the word on all nodes protects a grant",
          "words alone", words_alone, [](Rules&) {});
  return all;
}

}  // namespace

const std::vector<Run>& runs() {
  static const std::vector<Run> all = make_runs();
  return all;
}

}  // namespace holdfast::model
