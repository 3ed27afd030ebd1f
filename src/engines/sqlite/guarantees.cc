#include "engines/sqlite/sqlite_engine.h"

namespace holdfast::internal {

Guarantees sqlite_guarantees() {
  return Guarantees{.engine = "sqlite",
                    .recipe = "table",
                    .exclusion = Exclusion::linearizable,
                    .token = TokenStrength::durable_one_node,
                    .wake_up = WakeUp::push,
                    .fairness = Fairness::fifo,
                    .shared_mode = true,
                    .permit_mode = true,
                    .records = true,
                    .min_ttl = std::chrono::milliseconds(10),
                    .notes =
                        "One machine, one local file of one user, or of a group. A dead process is "
                        "noticed at once. "
                        "A file that is removed or replaced under its clients ends their locks; "
                        "tokens go on above the clock."};
}

}  // namespace holdfast::internal
