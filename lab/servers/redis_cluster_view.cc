#include "redis_cluster_view.h"

#include <algorithm>
#include <sstream>

namespace holdfast::test {
namespace {

int node_of(const std::string& id) {
  for (int node = 0; node < RedisClusterView::kNodes; ++node) {
    if (RedisClusterView::id_of(node) == id) return node;
  }
  return RedisClusterView::kNobody;
}

// "N" or "N-M".
void give(const std::string& slots, int owner, std::vector<int>& owners) {
  const std::size_t dash = slots.find('-');
  const int first = std::stoi(slots);
  const int last = dash == std::string::npos ? first : std::stoi(slots.substr(dash + 1));
  std::fill(owners.begin() + first, owners.begin() + last + 1, owner);
}

}  // namespace

bool RedisClusterView::owns_slots(int node) const {
  return std::ranges::find(owners, node) != owners.end();
}

std::string RedisClusterView::id_of(int node) {
  return std::string(39, '0') + std::to_string(node + 1);
}

// Each line: ID 127.0.0.1:PORT@BUS FLAGS MASTER PING PONG EPOCH LINK SLOTS…
// The last of the slots may be on their way: [N->-ID] or [N-<-ID].
RedisClusterView RedisClusterView::parse(const std::string& reply) {
  RedisClusterView view;
  for (Node& node : view.nodes) node.failed = true;  // unless it is named
  std::istringstream lines(reply);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string id, address, flags, master, ping, pong, epoch, link;
    words >> id >> address >> flags >> master >> ping >> pong >> epoch >> link;
    const int index = node_of(id);
    if (index == kNobody) continue;
    Node& node = view.nodes[static_cast<std::size_t>(index)];
    node.failed = flags.find("fail") != std::string::npos;  // also "fail?"
    // Redis 8 shows no pong of a node's own.
    node.answered = pong != "0" || flags.find("myself") != std::string::npos;
    node.master = node_of(master);
    for (std::string slots; words >> slots && slots[0] != '[';) give(slots, index, view.owners);
  }
  return view;
}

}  // namespace holdfast::test
