// A directed graph of many nodes, and its strongly connected components (Tarjan's, without recursion). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace holdfast::internal {

class Graph {
 public:
  explicit Graph(std::uint32_t nodes) : nodes_(nodes) {}

  std::uint32_t add_node() { return nodes_++; }
  void add_edge(std::uint32_t from, std::uint32_t to) { edges_.push_back({from, to}); }
  std::uint32_t nodes() const { return nodes_; }

  // By node: the number of its component, in no order.
  std::vector<std::uint32_t> components() const;
  Graph reversed() const;

  // Where each node's edges lead to.
  class Targets {
   public:
    explicit Targets(const Graph& graph);
    std::span<const std::uint32_t> of(std::uint32_t node) const {
      return {to_.data() + begin_[node], begin_[node + 1] - begin_[node]};
    }

   private:
    std::vector<std::size_t> begin_;
    std::vector<std::uint32_t> to_;
  };

 private:
  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
  };
  std::uint32_t nodes_;
  std::vector<Edge> edges_;
};

}  // namespace holdfast::internal
