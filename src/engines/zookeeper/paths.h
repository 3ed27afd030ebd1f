// Paths: where a lock's nodes are, and what the name of a claim's node says.
//
// The lock NAME is the node CHROOT/NAME; its claims are that node's children, in the order of the
// number that ZooKeeper puts behind their names. Characters that a path cannot hold are written as %XX: '/' and
// '%', control characters, bytes that are not UTF-8 or that ZooKeeper forbids, "." and "..".
//
//   _c_<uuid>-hf-lock-0000000007             exclusive, as Curator's InterProcessMutex names it
//   _c_<uuid>-hf-permit-3-lock-0000000007    one of three permits
//   _c_<uuid>-hf-__READ__0000000007          shared, as Curator's InterProcessReadWriteLock names it
//   _c_<uuid>-hf-__WRIT__0000000007          exclusive, of a shared_mutex
//   …-hf-kept-lock-…                         its data says which session it belongs to (a handle)
//
// The uuid is the claim's id, by which a claim finds its node again. Nodes of others are claims if
// their names end as those of Curator or kazoo do, or in ten digits; else they are none of ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/engine.h"

namespace holdfast::internal::zookeeper {

// The last part of a lock's path. `at_root`: "/zookeeper" is ZooKeeper's own.
std::string escaped_name(const Name& name, bool at_root);
// Nothing if no name is written so.
std::optional<Name> unescaped_name(std::string_view part);

// A claim's node, by its name.
struct ClaimNode {
  std::string name;
  std::int32_t sequence = 0;
  Mode mode = Mode::exclusive;
  std::uint32_t permits = 0;     // of Mode::permit
  std::optional<ClaimId> claim;  // if it is Holdfast's
  bool kept = false;             // its data says more
};
std::optional<ClaimNode> parse_claim_node(const std::string& name);

// A claim node's name up to its sequence number.
std::string claim_node_prefix(const Claim& claim, bool kept);
// The name of the same claim's node, in the same place of the queue, as one that is kept.
std::string kept_name(const Claim& claim, const std::string& name);

}  // namespace holdfast::internal::zookeeper
