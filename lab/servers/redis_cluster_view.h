// RedisClusterView: a Redis Cluster as one of its nodes sees it. A value.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace holdfast::test {

struct RedisClusterView {
  static constexpr int kNodes = 6;
  static constexpr int kSlots = 16384;
  static constexpr int kNobody = -1;

  struct Node {
    bool failed = false;    // or suspected, or unknown
    bool answered = false;  // ever
    int master = kNobody;   // of a replica
    bool operator==(const Node&) const = default;
  };

  std::array<Node, kNodes> nodes;
  std::vector<int> owners = std::vector<int>(kSlots, kNobody);  // of each slot, a node
  bool operator==(const RedisClusterView&) const = default;

  bool owns_slots(int node) const;

  // The names of the nodes in it.
  static std::string id_of(int node);
  // Reads the reply to CLUSTER NODES.
  static RedisClusterView parse(const std::string& reply);
};

}  // namespace holdfast::test
