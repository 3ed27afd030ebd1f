#include "survey/circles.h"

#include <array>

#include "survey/graph.h"

namespace holdfast::internal {

namespace {

constexpr std::uint32_t kNoNode = UINT32_MAX;
constexpr std::array kAllModes{Mode::exclusive, Mode::shared, Mode::permit};

// An edge leads from an owner to what it waits for. Between them are nodes that stand for "all stuck entries of this
// mode up to here", so that a queue of n has some n edges and not n squared.
class WaitGraph {
 public:
  WaitGraph(const Lines& all, Reading reading, const std::vector<bool>& stuck)
      : reading_(reading),
        stuck_(stuck),
        graph_(static_cast<std::uint32_t>(all.owners.size())),
        waits_for_itself_(all.owners.size()) {
    for (const Line& line : all.lines) add(line);
  }

  Circles circles() const {
    const std::vector<std::uint32_t> components = graph_.components();
    std::vector<std::uint32_t> owners(components.size());
    for (std::size_t i = 0; i < stuck_.size(); ++i) ++owners[components[i]];
    std::vector<bool> selfish(components.size());
    for (std::size_t i = 0; i < stuck_.size(); ++i) {
      if (waits_for_itself_[i]) selfish[components[i]] = true;
    }
    for (std::size_t i = stuck_.size(); i < components.size(); ++i) {
      // A node between an owner and itself: it waits for a permit, and holds some.
      if (owners[components[i]] > 0) selfish[components[i]] = true;
    }
    Circles found{.of_owner = std::vector<std::uint32_t>(stuck_.size(), kNoCircle), .behind = {}};
    std::vector<std::uint32_t> numbers(components.size(), kNoCircle);
    for (std::size_t i = 0; i < stuck_.size(); ++i) {
      const std::uint32_t component = components[i];
      if (!stuck_[i] || (owners[component] < 2 && !selfish[component])) continue;
      if (numbers[component] == kNoCircle) {
        numbers[component] = static_cast<std::uint32_t>(found.behind.size());
        found.behind.push_back(0);
      }
      found.of_owner[i] = numbers[component];
    }
    count_behind(found);
    return found;
  }

 private:
  void add(const Line& line) {
    StuckBefore before(line);
    // By mode: the node for all stuck entries of that mode so far; among the holders only, and at all.
    std::array<std::uint32_t, kModes> held{kNoNode, kNoNode, kNoNode};
    std::array<std::uint32_t, kModes> last = held;
    for (std::uint32_t i = 0; i < line.entries.size(); ++i) {
      const Entry& entry = line.entries[i];
      if (!stuck_[entry.owner]) continue;
      if (entry.role == Role::self && reading_ == Reading::possible) {
        waits_for_itself_[entry.owner] = true;
      }
      if (counts(entry.role, reading_)) {
        const auto& ahead = line.limit(i) < i ? held : last;
        for (const Mode mode : kAllModes) {
          if (before.blocks(mode, entry.mode)) {
            graph_.add_edge(entry.owner, ahead[number_of(mode)]);
          }
        }
      }
      std::uint32_t& node = last[number_of(entry.mode)];
      const std::uint32_t earlier = node;
      node = graph_.add_node();
      graph_.add_edge(node, entry.owner);
      if (earlier != kNoNode) graph_.add_edge(node, earlier);
      if (entry.role == Role::holds) held = last;
      before.pass(i);
    }
  }

  // From all circles at once, against the edges: each owner is counted for the circle that it is nearest to.
  void count_behind(Circles& found) const {
    if (found.behind.empty()) return;
    const Graph::Targets waiting_for_it(graph_.reversed());
    std::vector<std::uint32_t> circle(graph_.nodes(), kNoCircle);
    std::vector<std::uint32_t> reached;
    for (std::uint32_t i = 0; i < stuck_.size(); ++i) {
      circle[i] = found.of_owner[i];
      if (circle[i] != kNoCircle) reached.push_back(i);
    }
    for (std::size_t i = 0; i < reached.size(); ++i) {
      const std::uint32_t node = reached[i];
      for (const std::uint32_t next : waiting_for_it.of(node)) {
        if (circle[next] != kNoCircle) continue;
        circle[next] = circle[node];
        reached.push_back(next);
        if (next < stuck_.size()) ++found.behind[circle[next]];
      }
    }
  }

  Reading reading_;
  const std::vector<bool>& stuck_;
  Graph graph_;
  std::vector<bool> waits_for_itself_;
};

}  // namespace

void StuckBefore::pass(std::uint32_t position) {
  if (position >= line_.holders && line_.engine->fairness != Fairness::fifo) return;
  ++by_mode_[number_of(line_.entries[position].mode)];
}

bool StuckBefore::blocks(Mode other, Mode mode) const {
  const std::uint32_t stuck = by_mode_[number_of(other)];
  if (conflicts(mode, other)) return stuck > 0;
  return mode == Mode::permit && stuck >= line_.permits;
}

Circles find_circles(const Lines& all, Reading reading, const std::vector<bool>& stuck) {
  return WaitGraph(all, reading, stuck).circles();
}

}  // namespace holdfast::internal
