// The protocol of tokens on a quorum, as the steps that can follow a state. docs/REDLOCK.md tells it
// in prose; every rule is where the mistake of Rules that breaks it is asked for.
#ifndef HOLDFAST_TESTS_MODEL_PROTOCOL_H_
#define HOLDFAST_TESTS_MODEL_PROTOCOL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "config.h"
#include "state.h"

namespace holdfast::model {

enum class Kind : std::uint8_t {
  kBegin,    // a client makes a claim and sends its votes to all nodes
  kVote,     // a node executes a vote: the word was free or the claim's own
  kConfirm,  // a node that rejoined votes for a claim that was granted the token before
  kFence,    // a node accepts a later proposal of a claim
  kExpire,   // a word ends on a node
  kGiveUp,   // a client sends its releases to all nodes and counts no more replies
  kRetry,    // it tries again under the same id (Rules::reuses_claim_id)
  kRelease,  // a node executes a release
  kWipe,     // a node restarts empty
  kRejoin,   // an empty node begins to rejoin
  kRaise,    // an open node takes a later epoch
  kRead,     // a rejoin reads the F of a node
  kOpen,     // a rejoin is complete
  kCopy,     // somebody copies the data of a node
  kRestart,  // a node restarts with its data
  kRestore,  // a node restarts with the copy
  kRefound,  // several nodes that restarted begin to rejoin together
  kAdopt,    // one of them reads the F of a majority
};

struct Step {
  Kind kind;
  int node = -1;
  Claim claim = 0;
  Token token = 0;
  Epoch epoch = 0;
  Claim next = 0;  // kExpire, kRelease: to whom the word passes (0: to nobody)
  int other = -1;  // kRead: whose F is read; kRefound, kAdopt: the nodes, as bits
  // The result.
  bool accepted = false;
  Token granted = 0;  // the claim has its majority with this step
};

struct Successor {
  Step step;
  State state;
};

State first_state(const Config& config);

// All steps from a state that change anything. `out` is overwritten.
void successors(const Config& config, const State& state, std::vector<Successor>& out);

// "A votes 1 on n2: locked, accepted", for people.
std::string sentence(const Step& step);

char name_of(Claim claim);

}  // namespace holdfast::model

#endif  // HOLDFAST_TESTS_MODEL_PROTOCOL_H_
