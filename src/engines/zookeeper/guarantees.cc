#include "engines/zookeeper/zookeeper_engine.h"

namespace holdfast::internal {

Guarantees zookeeper_guarantees() {
  return Guarantees{
      .engine = "zookeeper",
      .recipe = "queue of ephemeral nodes",
      .exclusion = Exclusion::linearizable,
      .token = TokenStrength::linearizable,
      .wake_up = WakeUp::push,
      .fairness = Fairness::fifo,
      .shared_mode = true,
      .permit_mode = true,
      .records = true,
      .min_ttl = std::chrono::milliseconds(100),
      .notes =
          "The lock of a client that died comes free up to half of its ttl later than the ttl, or "
          "when the servers' shortest session ends (minSessionTimeout); a ttl longer than their "
          "longest session (maxSessionTimeout) is worth that much and renewed as often."};
}

}  // namespace holdfast::internal
