#include "protocol.h"

#include "claim_steps.h"
#include "node_steps.h"
#include "reduce.h"

namespace holdfast::model {

State first_state(const Config&) { return {}; }

void successors(const Config& config, const State& state, std::vector<Successor>& out) {
  out.clear();
  ClaimSteps claims(config, state, out);
  NodeSteps nodes(config, state, out);
  for (Claim claim = 1; claim <= config.sizes.claims; ++claim) claims.attempt(claim);
  for (int n = 0; n < config.sizes.nodes; ++n) {
    claims.words(n);
    if (config.lives()) nodes.lives(n);
  }
  if (config.refounds) nodes.refound();
  for (Successor& next : out) forget_what_cannot_matter(config, next.state);
}

}  // namespace holdfast::model
