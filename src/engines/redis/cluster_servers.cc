#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "engines/redis/keys.h"
#include "engines/redis/servers.h"

namespace holdfast::internal::redis {

namespace {

// "MOVED 3999 10.0.0.2:6381" or "ASK …": where to. An empty host means the one that said so.
std::optional<Endpoint> target_of(const std::string& redirection, const Endpoint& said_by) {
  const std::size_t space = redirection.rfind(' ');
  const std::size_t colon = redirection.rfind(':');
  if (space == std::string::npos || colon == std::string::npos || colon < space) return {};
  Endpoint target;
  target.host = redirection.substr(space + 1, colon - space - 1);
  if (target.host.empty()) target.host = said_by.host;
  const char* end = redirection.data() + redirection.size();
  const auto number = std::from_chars(redirection.data() + colon + 1, end, target.port);
  if (number.ec != std::errc() || number.ptr != end || target.port == 0) return {};
  return target;
}

class ClusterServers final : public Servers {
 public:
  ClusterServers(Runtime& runtime, const ServersSettings& settings, std::vector<Endpoint> seeds)
      : runtime_(runtime),
        settings_(settings),
        seeds_(std::move(seeds)),
        owner_(kSlots, nullptr),
        learnt_(runtime) {
    for (const Endpoint& seed : seeds_) node_at(seed);
  }

  bool fails_over() const override { return true; }
  Node* known(std::uint16_t slot) override { return doubtful_ ? nullptr : owner_[slot]; }
  Node* likely(std::uint16_t slot) override { return owner_[slot]; }
  Task<Result<Route>> find(std::uint16_t slot, Deadline deadline) override;
  Task<Advice> after_error(const Reply& error, Route& route, Deadline deadline) override;
  void suspect(Node&) override { doubtful_ = true; }
  Task<Result<std::vector<Node*>>> all(Deadline deadline) override;
  void stop() override {
    for (const auto& [endpoint, node] : nodes_) node->stop();
  }

 private:
  Node& node_at(const Endpoint& endpoint);
  // Asks the nodes, one after the other, who has which slots.
  Task<Result<void>> learn(Deadline deadline);
  bool take_map(const Reply& slots, const Endpoint& said_by);

  Runtime& runtime_;
  ServersSettings settings_;
  std::vector<Endpoint> seeds_;
  std::map<Endpoint, std::unique_ptr<Node>> nodes_;
  std::vector<Node*> owner_;  // by slot; null if nobody has it
  bool doubtful_ = true;      // the map may be out of date
  bool learning_ = false;
  Event learnt_;
  std::size_t next_asked_ = 0;
};

Node& ClusterServers::node_at(const Endpoint& endpoint) {
  std::unique_ptr<Node>& node = nodes_[endpoint];
  if (!node) node = make_node(runtime_, settings_, always_at(endpoint));
  return *node;
}

bool ClusterServers::take_map(const Reply& slots, const Endpoint& said_by) {
  std::vector<Node*> owner(kSlots, nullptr);
  for (const Reply& range : slots.items) {
    const std::int64_t first = range.at(0).as_number();
    const std::int64_t last = range.at(1).as_number();
    const Reply& master = range.at(2);
    const std::int64_t port = master.at(1).as_number();
    if (first < 0 || last >= std::int64_t{kSlots} || first > last) return false;
    if (port < 1 || port > 65535) return false;
    Endpoint endpoint{.host = master.at(0).text, .port = static_cast<std::uint16_t>(port)};
    if (endpoint.host.empty() || endpoint.host == "?") endpoint.host = said_by.host;
    Node& node = node_at(endpoint);
    std::fill(owner.begin() + first, owner.begin() + last + 1, &node);
  }
  owner_ = std::move(owner);
  return true;
}

Task<Result<void>> ClusterServers::learn(Deadline deadline) {
  constexpr Duration kPerNode = std::chrono::milliseconds(700);
  if (learning_) {
    if (co_await learnt_.wait(deadline) != Woken::signalled) {
      co_return Failure(Code::unreachable, "no node of the cluster answered in time");
    }
    co_return Result<void>();
  }
  learning_ = true;
  learnt_.reset();
  Result<void> outcome = Failure(Code::unreachable, "no node of the cluster answered");
  std::size_t skipped = 0;
  std::vector<Endpoint> endpoints;
  for (const auto& [endpoint, node] : nodes_) endpoints.push_back(endpoint);
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    Node& node = node_at(endpoints[(next_asked_ + i) % endpoints.size()]);
    const Deadline limit = deadline.sooner(runtime_.now() + kPerNode);
    std::string command = encode({"CLUSTER", "SLOTS"});
    const Result<Answer> answer = co_await node.connection().call(std::move(command), limit);
    if (!answer) {
      outcome = answer.failure();
      if (answer.code() == Code::misconfigured) break;
      skipped = i + 1;
      continue;
    }
    if (answer->reply.is_error("ERR This instance has cluster support disabled")) {
      outcome = Failure(Code::misconfigured, "Redis at " + node.endpoint().display() +
                                                 " is no cluster; write redis:// for one server");
      break;
    }
    if (answer->reply.is_error()) {
      outcome = node.connection().refused(answer->reply);
      continue;
    }
    if (!take_map(answer->reply, node.endpoint())) continue;
    doubtful_ = false;
    // Ask another one next time: this one may be cut off from the others.
    skipped = i + 1;
    outcome = Result<void>();
    break;
  }
  next_asked_ += skipped;
  learning_ = false;
  learnt_.set();
  co_return outcome;
}

Task<Result<Route>> ClusterServers::find(std::uint16_t slot, Deadline deadline) {
  if (doubtful_ || !owner_[slot]) {
    const Result<void> learnt = co_await learn(deadline);
    if (!learnt && !owner_[slot]) co_return learnt.failure();
  }
  if (owner_[slot]) co_return Route{owner_[slot]};
  co_return Failure(Code::unreachable,
                    "no node of the cluster has slot " + std::to_string(slot) + " now");
}

Task<Servers::Advice> ClusterServers::after_error(const Reply& error, Route& route, Deadline) {
  const bool moved = error.is_error("MOVED ");
  if (moved || error.is_error("ASK ")) {
    const std::optional<Endpoint> target = target_of(error.text, route.node->endpoint());
    if (!target) co_return Advice::give_up;
    route = Route{&node_at(*target), !moved};
    if (moved) {
      const std::size_t slot = static_cast<std::size_t>(std::atoi(error.text.c_str() + 6));
      if (slot < kSlots) owner_[slot] = route.node;
    }
    co_return Advice::at_once;
  }
  if (error.is_error("CLUSTERDOWN") || error.is_error("READONLY") || error.is_error("LOADING") ||
      error.is_error("MASTERDOWN")) {
    doubtful_ = true;
    route = Route{};
    co_return Advice::soon;
  }
  if (error.is_error("TRYAGAIN")) {  // The slot is being moved, key by key.
    route = Route{};
    co_return Advice::soon;
  }
  co_return Advice::give_up;
}

Task<Result<std::vector<Node*>>> ClusterServers::all(Deadline deadline) {
  const Result<void> learnt = co_await learn(deadline);
  if (!learnt) co_return learnt.failure();
  std::set<Node*> owners(owner_.begin(), owner_.end());
  owners.erase(nullptr);
  co_return std::vector<Node*>(owners.begin(), owners.end());
}

}  // namespace

std::unique_ptr<Servers> cluster_servers(Runtime& runtime, const ServersSettings& settings,
                                         std::vector<Endpoint> seeds) {
  return std::make_unique<ClusterServers>(runtime, settings, std::move(seeds));
}

}  // namespace holdfast::internal::redis
