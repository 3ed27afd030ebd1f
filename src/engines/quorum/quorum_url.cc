#include "engines/quorum/quorum_url.h"

#include <algorithm>

namespace holdfast::internal::quorum {

std::vector<Endpoint> read_nodes(UrlReader& reader, std::uint16_t default_port,
                                 QuorumOptions& quorum, const ClientOptions& options) {
  constexpr std::size_t kMaxNodes = 25;
  constexpr int kMaxTimeoutMs = 60'000;
  quorum.request_timeout = options.request_timeout;
  std::vector<Endpoint> nodes = reader.servers(default_port);
  reader.time_ms("node_timeout_ms", quorum.node_timeout, kMaxTimeoutMs);
  if (const std::string* collect = reader.option("collect")) {
    reader.require(*collect == "majority" || *collect == "all",
                   "collect is majority or all, not '" + *collect + "'");
    quorum.collect_all = *collect == "all";
  }
  const std::size_t count = nodes.size();
  reader.require(count <= kMaxNodes, "there are " + std::to_string(count) + " nodes, and at most " +
                                         std::to_string(kMaxNodes) + " can be asked");
  std::vector<Endpoint> sorted = nodes;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) reader.refuse(twice->display() + " is named twice");
  if (count % 2 == 0 && options.observer) {
    options.observer->on_warning(std::to_string(count) +
                                 " nodes survive the loss of no more of them than " +
                                 std::to_string(count - 1) + " would: use an odd number");
  }
  return nodes;
}

}  // namespace holdfast::internal::quorum
