// Fewer states: forgets history that can make no difference any more.
#ifndef HOLDFAST_TESTS_MODEL_REDUCE_H_
#define HOLDFAST_TESTS_MODEL_REDUCE_H_

#include "config.h"
#include "state.h"

namespace holdfast::model {

// Clears the replies of nodes that accepted a token which can no more reach a majority, because too
// many nodes have gone beyond it, and grants that no property can ever ask for again. Runs with
// Config::forget = false do without; they must come to the same result.
void forget_what_cannot_matter(const Config& config, State& state);

}  // namespace holdfast::model

#endif  // HOLDFAST_TESTS_MODEL_REDUCE_H_
