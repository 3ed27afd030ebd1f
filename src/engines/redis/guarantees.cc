#include "engines/redis/redis_engine.h"

namespace holdfast::internal {

Guarantees redis_guarantees() {
  return Guarantees{
      .engine = "redis",
      .recipe = "single server",
      .exclusion = Exclusion::bounded_by_clocks,
      .token = TokenStrength::volatile_memory,
      .wake_up = WakeUp::push,
      .fairness = Fairness::fifo,
      .shared_mode = true,
      .permit_mode = true,
      .records = true,
      .min_ttl = std::chrono::milliseconds(20),
      .notes =
          "A lock is lost if the server restarts without its data, evicts it, or has its "
          "clock set ahead; a record without its data, or if it is evicted. Tokens go on growing "
          "also then, unless the clock is set back."};
}

Guarantees redis_sentinel_guarantees() {
  Guarantees guarantees = redis_guarantees();
  guarantees.engine = "redis+sentinel";
  guarantees.recipe = "master with replicas";
  guarantees.exclusion = Exclusion::best_effort;
  guarantees.notes =
      "Replication is asynchronous: a failover can forget the newest locks and records "
      "(wait_replicas=N makes that rarer), and an old master that is cut off can go "
      "on granting. Tokens are seeded by the new master's clock.";
  return guarantees;
}

Guarantees redis_cluster_guarantees() {
  Guarantees guarantees = redis_sentinel_guarantees();
  guarantees.engine = "redis+cluster";
  guarantees.recipe = "the slot's master";
  return guarantees;
}

}  // namespace holdfast::internal
