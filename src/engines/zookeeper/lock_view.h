// LockView: what everybody can see of locks: who holds and who waits. Inside the loop only.
#pragma once

#include <string>
#include <vector>

#include "engines/zookeeper/lock_nodes.h"
#include "engines/zookeeper/queue.h"
#include "holdfast/engine.h"

namespace holdfast::internal::zookeeper {

// One claim's node and what it says.
struct SeenNode {
  ClaimNode node;
  Stat stat;
  std::optional<NodeData> data;  // nothing if it is not Holdfast's
  std::string label;

  Token token() const {
    return data && data->token ? *data->token : Token(static_cast<std::uint64_t>(stat.czxid));
  }
};

class LockView {
 public:
  LockView(Runtime& runtime, LockNodes& nodes) : runtime_(runtime), nodes_(nodes) {}

  Task<Result<LockInfo>> inspect(Session& session, const Name& name, Deadline deadline);
  Task<Result<std::vector<LockInfo>>> list(Session& session, const std::string& prefix,
                                           Deadline deadline);
  // The claims of a lock in their order, as they are now.
  Task<Result<std::vector<SeenNode>>> look(Session& session, std::string lock_path,
                                           Deadline deadline);
  static std::vector<ClaimNode> names_of(const std::vector<SeenNode>& seen);

 private:
  Task<Result<std::vector<SeenNode>>> read(Session& session, std::string lock_path,
                                           std::vector<std::string> children, Deadline deadline);
  LockInfo describe_lock(const Name& name, const std::vector<SeenNode>& seen) const;

  Runtime& runtime_;
  LockNodes& nodes_;
};

}  // namespace holdfast::internal::zookeeper
