// One run of the model checker: how large, which faults, and which rules the protocol follows.
#ifndef HOLDFAST_TESTS_MODEL_CONFIG_H_
#define HOLDFAST_TESTS_MODEL_CONFIG_H_

#include <cstdint>

#include "state.h"

namespace holdfast::model {

enum class Recovery : std::uint8_t {
  kByEpoch,  // the protocol: a new epoch on a majority of the others, then their greatest F
  kCopyMax,  // the greatest F of a majority of the others, in the old epoch
  kNone,     // opens as it is: empty
};

// The rules of the protocol. The defaults are ours; each deviation is a mistake that one could make.
struct Rules {
  bool counters = false;         // INCR on each node, token = the greatest of the replies
  bool fence_needs_word = true;  // a node accepts a later proposal only from the word's owner
  bool equal_token_of_another = false;  // a node accepts t = F from any claim
  bool half_is_enough = false;          // N/2 votes instead of N/2 + 1
  bool fence_expires = false;           // F has the word's ttl
  bool epochs_add_up = false;           // votes of different epochs count together
  Recovery recovery = Recovery::kByEpoch;
  bool rejoin_bumps_others = true;     // F is read only from nodes that refuse the old epochs
  bool rejoin_reads_majority = true;   // else from one node less
  bool rejoin_copies_claim = false;    // F's claim is restored with its token
  bool rejoin_epoch_is_new = true;     // the epoch exceeds those of a majority of the others *now*;
                                       // else it may have been chosen before the node's last life
  bool votes_need_established = true;  // nobody votes in an epoch before a majority has it
  bool restarted_votes = false;        // a node that was restarted votes on with the data it has
  bool restart_ends_rejoin = true;     // else a restored copy goes on with a rejoin of its time
  bool restored_claim_stays = false;   // a rejoin keeps the claim in the F that the node has
  bool refounds_by_clock = true;       // above all tokens that were ever accepted, read or not: a
                                       // clock that was not set back is above them
  bool refounds_with_memory = true;    // only nodes that were open; else empty ones too
  bool reuses_claim_id = false;        // an attempt that gave up tries again under its old id
};

struct Config {
  Sizes sizes = {};
  int wipes = 0;              // restarts without data
  int restarts = 0;           // with all data
  int restores = 0;           // with older data: any copy of the node's own
  bool copies = false;        // copies may be taken at any time; else the first one is the only one
  bool refounds = false;      // if too few nodes are open
  bool expiry = true;         // any word may end at any moment (else only by release)
  bool reservations = false;  // a word that ends may pass to any claim that waits
  bool one_guess = false;     // every attempt begins with token 1 and proposes no other: smaller
  bool stops_when_granted = false;  // a client that was granted a token proposes no other; where it
                                    // may, it stands for one that had not yet counted
  bool forget = true;               // see reduce.h
  Rules rules = {};

  // Which order of tokens is checked: see properties.h.
  bool order_from_acceptance = true;
  // A statement that is too strong, to show that it is: see properties.h.
  bool words_alone_protect = false;

  bool lives() const { return wipes + restarts + restores > 0; }
  int majority() const { return rules.half_is_enough ? sizes.nodes / 2 : sizes.nodes / 2 + 1; }
  int rejoin_quorum() const {
    return (sizes.nodes - 1) / 2 + 1 - (rules.rejoin_reads_majority ? 0 : 1);
  }
};

}  // namespace holdfast::model

#endif  // HOLDFAST_TESTS_MODEL_CONFIG_H_
