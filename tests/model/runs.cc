#include "runs.h"

namespace holdfast::model {
namespace {

Sizes sizes(int nodes, Claim claims, Token tokens, Epoch epochs = 1) {
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

Config two_tokens(Config config) {
  config.sizes.tokens = 2;
  return config;
}

Config one_token(Config config) {
  config.sizes.tokens = 1;
  config.one_guess = true;
  return config;
}

const Config kTwo{.sizes = sizes(3, 2, 4)};
const Config kThree{.sizes = sizes(3, 3, 3)};
const Config kFour{.sizes = sizes(4, 2, 3)};
const Config kFive{.sizes = sizes(5, 2, 3)};
const Config kExclusive{.sizes = sizes(3, 3, 3), .expiry = false, .reservations = true};
const Config kOneWipe{.sizes = sizes(3, 2, 3, 2), .wipes = 1};
const Config kTwoWipes{.sizes = sizes(3, 2, 2, 3), .wipes = 2};
const Config kFiveWipes{.sizes = sizes(5, 2, 1, 3), .wipes = 2, .expiry = false, .one_guess = true};
const Config kFourWipes{.sizes = sizes(4, 2, 1, 3), .wipes = 2, .expiry = false, .one_guess = true};
const Config kFiveWipesSmall{
    .sizes = sizes(5, 2, 1, 2), .wipes = 2, .expiry = false, .one_guess = true};

Sizes with_restarts(int nodes, Claim claims, Token tokens, Epoch epochs) {
  Sizes all = sizes(nodes, claims, tokens, epochs);
  all.restarts = true;
  return all;
}

const Config kOneRestore{
    .sizes = with_restarts(3, 2, 2, 2), .restores = 1, .copies = true, .stops_when_granted = true};
const Config kWipeAndRestore{.sizes = with_restarts(3, 2, 1, 3),
                             .wipes = 1,
                             .restores = 1,
                             .copies = true,
                             .one_guess = true};
const Config kAllRestart{.sizes = with_restarts(3, 2, 2, 2),
                         .restarts = 3,
                         .refounds = true,
                         .stops_when_granted = true};
const Config kMajorityRestarts{.sizes = with_restarts(3, 2, 2, 2),
                               .restarts = 2,
                               .refounds = true,
                               .stops_when_granted = true};
const Config kMajorityRestored{.sizes = with_restarts(3, 2, 2, 2),
                               .restores = 2,
                               .refounds = true,
                               .stops_when_granted = true};
const Config kRefoundTwice{.sizes = with_restarts(3, 2, 2, 3),
                           .restores = 3,
                           .refounds = true,
                           .stops_when_granted = true};
const Config kRefoundAfterWipe{.sizes = with_restarts(3, 2, 1, 3),
                               .wipes = 1,
                               .restarts = 2,
                               .refounds = true,
                               .one_guess = true};

Config without_clock(Config config) {
  config.rules.refounds_by_clock = false;
  return config;
}

// Collects runs; its words are those that CMakeLists.txt looks for.
struct Holds {
  std::vector<Run>& all;
  bool deep;
  void operator()(std::string_view name, std::string_view what, const Config& config) const {
    all.push_back({name, what, config, "", deep});
  }
};

struct Refutes {
  std::vector<Run>& all;
  void operator()(std::string_view name, std::string_view what, std::string_view breaks,
                  const Config& config, void (*make)(Rules&)) const {
    all.push_back({name, what, mistake(config, make), breaks, false});
  }
};

void add_promises(std::vector<Run>& all) {
  const Holds holds{all, false};
  const Holds deep{all, true};
  holds("RedlockThreeNodesTwoAttempts", "3 nodes, 2 attempts, tokens 1-4", kTwo);
  holds("RedlockThreeNodesTwoAttemptsReserved", "the same with words that pass to a waiter",
        reserved(kTwo));
  holds("RedlockThreeNodesThreeAttempts", "3 nodes, 3 attempts, tokens 1-3", kThree);
  holds("RedlockFourNodesTwoAttempts", "4 nodes, 2 attempts, tokens 1-3", kFour);
  holds("RedlockFiveNodesTwoAttempts", "5 nodes, 2 attempts, tokens 1-3", kFive);
  holds("RedlockExclusion", "3 nodes, 3 attempts, tokens 1-3, words end by release only",
        kExclusive);
  holds("RedlockOneWipe", "3 nodes, 2 attempts, tokens 1-2, one node restarts empty",
        two_tokens(kOneWipe));
  holds("RedlockTwoWipes", "3 nodes, 2 attempts, token 1 only, two empty restarts",
        one_token(kTwoWipes));
  holds("RedlockFourNodesTwoWipes", "4 nodes, 2 attempts, token 1 only, two empty restarts",
        kFourWipes);
  holds("RedlockFiveNodesTwoWipes",
        "5 nodes, 2 attempts, token 1 only, two empty restarts, one new epoch", kFiveWipesSmall);

  holds("RedlockRestoredCopy",
        "3 nodes, 2 attempts, tokens 1-2, one node restarts with any older data", kOneRestore);
  holds("RedlockWipeAndRestore",
        "3 nodes, 2 attempts, token 1 only, an empty restart and one with any older data",
        kWipeAndRestore);
  holds("RedlockAllRestart",
        "3 nodes, 2 attempts, token 1 only, three restarts with all data, no clock",
        one_token(without_clock(kAllRestart)));
  holds("RedlockRefoundAfterWipe",
        "3 nodes, 2 attempts, token 1 only, an empty restart, two with all data, no clock",
        without_clock(kRefoundAfterWipe));
  holds("RedlockMajorityRestored",
        "3 nodes, 2 attempts, tokens 1-2, two restarts with the first data, refounding by clock",
        kMajorityRestored);

  deep("RedlockMajorityRestarts",
       "3 nodes, 2 attempts, tokens 1-2, two restarts with all data, refounding without a clock",
       without_clock(kMajorityRestarts));
  deep("RedlockAllRestartTwoTokens", "the same with tokens 1-2", without_clock(kAllRestart));
  deep("RedlockRefoundTwice",
       "3 nodes, 2 attempts, tokens 1-2, three restarts with the first data, two new epochs",
       kRefoundTwice);
  deep("RedlockOneWipeThreeTokens", "3 nodes, 2 attempts, tokens 1-3, one node restarts empty",
       kOneWipe);
  deep("RedlockOneWipeReserved", "the same with words that pass to a waiter", reserved(kOneWipe));
  deep("RedlockTwoWipesTwoTokens", "3 nodes, 2 attempts, tokens 1-2, two empty restarts",
       kTwoWipes);
  deep("RedlockFiveNodesTwoWipesTwoEpochs",
       "5 nodes, 2 attempts, token 1 only, two empty restarts, two new epochs", kFiveWipes);
}

void add_mistakes(std::vector<Run>& all) {
  const Refutes refutes{all};
  refutes("RefutesIncrMax", "INCR on each node, token = the greatest reply", "unique", kTwo,
          [](Rules& rules) { rules.counters = true; });
  refutes("RefutesFenceWithoutWord", "the fence step does not ask for the word", "intact", kTwo,
          [](Rules& rules) { rules.fence_needs_word = false; });
  refutes("RefutesEqualToken", "a node accepts t = F from another claim", "unique", kTwo,
          [](Rules& rules) { rules.equal_token_of_another = true; });
  refutes("RefutesHalfIsEnough", "two votes of four", "unique", kFour,
          [](Rules& rules) { rules.half_is_enough = true; });
  refutes("RefutesFenceExpires", "F has the ttl of the word", "unique", kTwo,
          [](Rules& rules) { rules.fence_expires = true; });
  refutes("RefutesReusedClaimId", "an attempt that gave up tries again under its old id",
          "exclusion", kExclusive, [](Rules& rules) { rules.reuses_claim_id = true; });

  Config words_alone = kTwo;
  words_alone.words_alone_protect = true;
  refutes("RefutesWordsAlone", "too strong a statement: the word on all nodes protects a grant",
          "words alone", words_alone, [](Rules&) {});
}

void add_mistakes_of_recovery(std::vector<Run>& all) {
  const Refutes refutes{all};
  refutes("RefutesEmptyRestart", "a node that restarted empty votes at once", "unique", kOneWipe,
          [](Rules& rules) { rules.recovery = Recovery::kNone; });
  refutes("RefutesCopyMax",
          "an empty node copies F from a majority of the others, without an epoch", "unique",
          kOneWipe, [](Rules& rules) { rules.recovery = Recovery::kCopyMax; });
  refutes("RefutesEpochNotBumped", "the new epoch is not made known to the others before F is read",
          "unique", kOneWipe, [](Rules& rules) { rules.rejoin_bumps_others = false; });
  refutes("RefutesEpochOnMinority",
          "the new epoch is bumped, and F read, on a minority of the others", "unique", kOneWipe,
          [](Rules& rules) { rules.rejoin_reads_majority = false; });
  refutes("RefutesEpochsAddUp", "votes of different epochs are added up", "unique", kOneWipe,
          [](Rules& rules) { rules.epochs_add_up = true; });
  refutes("RefutesClaimCopied", "a rejoin restores the claim in F with its token", "unique",
          kOneWipe, [](Rules& rules) { rules.rejoin_copies_claim = true; });
  refutes("RefutesStaleRejoinEpoch", "a rejoin takes an epoch in which the node may have voted",
          "unique", one_token(kTwoWipes), [](Rules& rules) { rules.rejoin_epoch_is_new = false; });
  refutes("RefutesVotesBeforeEstablished", "votes in an epoch that no majority has yet", "unique",
          kFiveWipesSmall, [](Rules& rules) { rules.votes_need_established = false; });
  refutes("RefutesVotesBeforeEstablishedThreeNodes", "the same with three nodes", "unique",
          one_token(kTwoWipes), [](Rules& rules) { rules.votes_need_established = false; });
}

void add_mistakes_of_restarts(std::vector<Run>& all) {
  const Refutes refutes{all};
  refutes("RefutesRestoredCopyVotes", "a node that restarted with older data votes at once",
          "unique", kOneRestore, [](Rules& rules) { rules.restarted_votes = true; });
  refutes("RefutesRejoinSpansRestart", "a restored copy goes on with a rejoin of its time",
          "unique", kWipeAndRestore, [](Rules& rules) { rules.restart_ends_rejoin = false; });
  refutes("RefutesRestoredClaim", "a rejoin keeps the claim in the F of an older copy", "unique",
          kWipeAndRestore, [](Rules& rules) { rules.restored_claim_stays = true; });
  refutes("RefutesRefoundWithoutClock",
          "a majority restored from older data refounds above what it remembers", "unique",
          kMajorityRestored, [](Rules& rules) { rules.refounds_by_clock = false; });
  refutes("RefutesEmptyNodeRefounds", "a node that lost its data refounds with one that has them",
          "unique", without_clock(kRefoundAfterWipe),
          [](Rules& rules) { rules.refounds_with_memory = false; });
}

std::vector<Run> make_runs() {
  std::vector<Run> all;
  add_promises(all);
  add_mistakes(all);
  add_mistakes_of_recovery(all);
  add_mistakes_of_restarts(all);
  return all;
}

}  // namespace

const std::vector<Run>& runs() {
  static const std::vector<Run> all = make_runs();
  return all;
}

}  // namespace holdfast::model
