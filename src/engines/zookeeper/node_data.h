// NodeData: what the node of a Holdfast claim says to others, beside its name.
//
//   holdfast 1
//   ttl_ms=30000
//   session=1a2b:00ff…      of a handle: the session that the node belongs to, and its password
//   token=4294967300        if it is not the transaction that created the node
//   held=1                  of a permit that had to wait: it is in now
//   label=anything, to the end
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engines/zookeeper/session.h"
#include "holdfast/ids.h"
#include "holdfast/time.h"

namespace holdfast::internal::zookeeper {

struct NodeData {
  Duration ttl{};
  std::optional<SessionKey> session;
  std::optional<Token> token;
  bool held = false;
  std::string label;

  std::string text() const;
  // Nothing if it is not Holdfast's.
  static std::optional<NodeData> parse(std::string_view text);
};

// A label for people, from the data of a node that is not Holdfast's.
std::string foreign_label(std::string_view data);

}  // namespace holdfast::internal::zookeeper
