// NodeWatches: watches on the nodes of holds that last, so that who takes one away, or writes into it,
// is noticed at once and not at the next renewal. Holds that are over in a moment get none: they
// should cost nothing more. (Claims that wait set theirs together with what they wait for.) Inside
// the loop only.
#pragma once

#include <vector>

#include "engines/zookeeper/claims.h"

namespace holdfast::internal::zookeeper {

class NodeWatches {
 public:
  // `claims` must outlive it.
  NodeWatches(Runtime& runtime, const Claims& claims, Duration request_timeout)
      : runtime_(runtime),
        claims_(claims),
        request_timeout_(request_timeout),
        background_(runtime) {}

  // It holds from now on.
  void granted(const ClaimState& state);
  void stop() { background_.stop(); }

 private:
  using States = std::vector<Claims::State>;

  static bool wants_one(const ClaimState& state);
  Task<void> post();
  Task<void> post_at(States states);

  Runtime& runtime_;
  const Claims& claims_;
  const Duration request_timeout_;
  bool posting_ = false;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal::zookeeper
