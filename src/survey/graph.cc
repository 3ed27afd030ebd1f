#include "survey/graph.h"

#include <algorithm>

namespace holdfast::internal {

namespace {

constexpr std::uint32_t kUnseen = UINT32_MAX;

class ComponentSearch {
 public:
  ComponentSearch(const Graph& graph)
      : targets_(graph),
        order_(graph.nodes(), kUnseen),
        lowest_(graph.nodes()),
        component_(graph.nodes(), kUnseen) {}

  std::vector<std::uint32_t> run() {
    for (std::uint32_t node = 0; node < order_.size(); ++node) {
      if (order_[node] == kUnseen) search_from(node);
    }
    return std::move(component_);
  }

 private:
  struct Step {
    std::uint32_t node;
    std::size_t next;  // of its edges
  };

  void enter(std::uint32_t node) {
    order_[node] = lowest_[node] = entered_++;
    open_.push_back(node);
    path_.push_back({node, 0});
  }

  void search_from(std::uint32_t root) {
    enter(root);
    while (!path_.empty()) {
      Step& step = path_.back();
      const std::span<const std::uint32_t> edges = targets_.of(step.node);
      if (step.next == edges.size()) {
        leave();
        continue;
      }
      const std::uint32_t node = step.node;
      const std::uint32_t target = edges[step.next++];
      if (order_[target] == kUnseen) {
        enter(target);
      } else if (component_[target] == kUnseen) {
        lowest_[node] = std::min(lowest_[node], order_[target]);
      }
    }
  }

  void leave() {
    const std::uint32_t node = path_.back().node;
    path_.pop_back();
    if (!path_.empty()) {
      std::uint32_t& above = lowest_[path_.back().node];
      above = std::min(above, lowest_[node]);
    }
    if (lowest_[node] != order_[node]) return;
    std::uint32_t member = kUnseen;
    do {
      member = open_.back();
      open_.pop_back();
      component_[member] = components_;
    } while (member != node);
    ++components_;
  }

  Graph::Targets targets_;
  std::vector<std::uint32_t> order_, lowest_, component_;
  std::vector<std::uint32_t> open_;  // entered, and of no component yet
  std::vector<Step> path_;
  std::uint32_t entered_ = 0;
  std::uint32_t components_ = 0;
};

}  // namespace

std::vector<std::uint32_t> Graph::components() const { return ComponentSearch(*this).run(); }

Graph Graph::reversed() const {
  Graph turned(nodes_);
  for (const Edge& edge : edges_) turned.add_edge(edge.to, edge.from);
  return turned;
}

Graph::Targets::Targets(const Graph& graph) : begin_(graph.nodes_ + 1), to_(graph.edges_.size()) {
  for (const Edge& edge : graph.edges_) ++begin_[edge.from + 1];
  for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  for (const Edge& edge : graph.edges_) to_[next[edge.from]++] = edge.to;
}

}  // namespace holdfast::internal
