// Properties that must hold in every state. "Granted" means that a majority has accepted the token for the
// claim in one epoch: the earliest moment at which its client could count.
//
//   unique     No two claims are granted the same token.
//   order      If t1 was granted before any node accepted t2 for its claim, and t2 is granted later,
//              then t1 < t2. In particular (Config::order_from_acceptance = false) if t1 was granted
//              before the other client sent its first vote.
//   intact     While a majority of nodes keeps the word of a claim without a break since each of
//              them accepted t for it, and t is granted, t is the greatest token granted to anybody.
//   current    While F = (t, claim) on a majority of open nodes, nobody was granted more than t: what a
//              renewal asks, words apart.
//   exclusion  Where words end by release only: one claim at most is granted and not given up.
//
// And one that is *not* true, kept to show why the statement above says "without a break":
//
//   words alone  While a claim that was granted t has the word on all nodes, no other is granted a
//                greater token.
#ifndef HOLDFAST_TESTS_MODEL_PROPERTIES_H_
#define HOLDFAST_TESTS_MODEL_PROPERTIES_H_

#include <optional>
#include <string>

#include "config.h"
#include "state.h"

namespace holdfast::model {

// The property that the state breaks, in words.
std::optional<std::string> violation(const Config& config, const State& state);

}  // namespace holdfast::model

#endif  // HOLDFAST_TESTS_MODEL_PROPERTIES_H_
