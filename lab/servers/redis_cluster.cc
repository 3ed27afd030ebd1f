#include "redis_cluster.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "certificates.h"
#include "waiting.h"

namespace holdfast::test {
namespace {

struct Range {
  int first;
  int last;
};

constexpr Range range_of(int master) {
  constexpr int kSlots = RedisCluster::kSlots;
  constexpr int kMasters = RedisCluster::kMasters;
  // As redis-cli divides them.
  const auto end = [](int part) { return (kSlots * part * 2 + kMasters) / (kMasters * 2); };
  return {end(master), end(master + 1) - 1};
}
static_assert(range_of(0).last == 5460 && range_of(1).last == 10922 && range_of(2).last == 16383);

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void expect_ok(const std::string& what, const std::string& reply) {
  if (reply != "OK") throw std::runtime_error(what + ": " + reply);
}

}  // namespace

// A master that has just started waits 2 s before it calls the cluster well; a replica does not,
// and it need not when it becomes a master. Therefore nodes 0 to 2 begin as replicas of 3 to 5 in a
// cluster that they all find in their files, and take over at once: 0.6 s in all, 0.8 s with TLS.
// (Six empty nodes take 2.05 s, by `redis-cli --cluster create` as well as by CLUSTER MEET,
// ADDSLOTSRANGE and REPLICATE.)
RedisCluster::RedisCluster(RedisClusterOptions options) : options_(std::move(options)) {
  choose_ports();
  for (int i = 0; i < kNodes; ++i) start_node(i);
  promote_replicas();
  wait_until_ok();
}

void RedisCluster::choose_ports() {
  for (std::size_t i = 0; i < kNodes; ++i) {
    plain_ports_[i] = free_port();
    if (options_.tls) tls_ports_[i] = free_port();
    bus_ports_[i] = free_port();
  }
}

// nodes.conf of a node: what CLUSTER NODES shows.
std::string RedisCluster::initial_view_of(int index) const {
  std::ostringstream text;
  for (int i = 0; i < kNodes; ++i) {
    const auto position = static_cast<std::size_t>(i);
    const bool is_master = i >= kMasters;
    text << id(i) << " 127.0.0.1:" << (options_.tls ? tls_ports_ : plain_ports_)[position] << "@"
         << bus_ports_[position] << (i == index ? " myself," : " ")
         << (is_master ? "master - " : "slave " + id(i + kMasters) + " ");
    if (is_master) {
      const Range slots = range_of(i - kMasters);
      text << "0 0 " << i << " connected " << slots.first << "-" << slots.last << "\n";
    } else {
      text << "0 0 " << i + kMasters << " connected\n";
    }
  }
  text << "vars currentEpoch " << kNodes << " lastVoteEpoch 0\n";
  return text.str();
}

void RedisCluster::start_node(int index) {
  const auto position = static_cast<std::size_t>(index);
  const std::string file = directory_.path() / ("nodes-" + std::to_string(index) + ".conf");
  std::ofstream(file) << initial_view_of(index);
  RedisOptions options{.tls = options_.tls,
                       .password = options_.password,
                       .port = plain_ports_[position],
                       .tls_port = tls_ports_[position]};
  options.arguments = {"--cluster-enabled", "yes", "--cluster-config-file", file, "--cluster-port",
                       std::to_string(bus_ports_[position]), "--cluster-announce-ip", "127.0.0.1",
                       "--cluster-node-timeout", "1000",
                       // Without a disk a replica would wait 5 s for others to come.
                       "--repl-diskless-sync", "no"};
  if (options_.tls) {
    options.arguments.insert(options.arguments.end(),
                             {"--tls-cluster", "yes", "--tls-replication", "yes"});
  }
  nodes_.push_back(std::make_unique<RedisServer>(options));
}

void RedisCluster::promote_replicas() {
  // A slot that nobody seems to own for a moment would be a failure, and the end of one is again
  // delayed by 2 s.
  require_full_coverage("no");
  // A node's message to all reaches only those with which it has spoken already.
  wait_for("the nodes to meet",
           [&] { return all_nodes([this](int i) { return has_met_all(i); }); });
  for (int i = 0; i < kMasters; ++i) {
    expect_ok("CLUSTER FAILOVER", node(i).command({"CLUSTER", "FAILOVER", "TAKEOVER"}));
    // One by one: two that take over in the same epoch would have to settle who was first.
    const auto slot = static_cast<std::size_t>(range_of(i).first);
    wait_for("node " + std::to_string(i) + " to be known as a master",
             [&] { return all_nodes([&](int j) { return seen_by(j).owners[slot] == i; }); });
  }
  wait_until_ok();
  require_full_coverage("yes");
}

bool RedisCluster::all_nodes(const std::function<bool(int)>& condition) const {
  for (int i = 0; i < kNodes; ++i) {
    if (!condition(i)) return false;
  }
  return true;
}

void RedisCluster::require_full_coverage(const std::string& value) {
  for (const auto& server : nodes_) {
    expect_ok("CONFIG SET",
              server->command({"CONFIG", "SET", "cluster-require-full-coverage", value}));
  }
}

bool RedisCluster::has_met_all(int index) {
  const RedisClusterView view = seen_by(index);
  return all_nodes(
      [&](int i) { return i == index || view.nodes[static_cast<std::size_t>(i)].answered; });
}

std::string RedisCluster::url() const {
  std::string places;
  for (std::size_t i = 0; i < kMasters; ++i) {
    places += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(nodes_[i]->port());
  }
  const std::string user = options_.password.empty() ? "" : ":" + options_.password + "@";
  return options_.tls ? "rediss+cluster://" + user + places + "?ca=" + Certificates::shared().ca()
                      : "redis+cluster://" + user + places;
}

int RedisCluster::slot_of(const std::string& key) {
  for (const auto& server : nodes_) {
    if (server->running()) return std::stoi(server->command({"CLUSTER", "KEYSLOT", key}));
  }
  throw std::runtime_error("no node runs");
}

RedisClusterView RedisCluster::seen_by(int index) {
  return RedisClusterView::parse(node(index).command({"CLUSTER", "NODES"}));
}

int RedisCluster::master_of(int slot) {
  for (int i = 0; i < kNodes; ++i) {
    if (!node(i).running()) continue;
    const int owner = seen_by(i).owners.at(static_cast<std::size_t>(slot));
    if (owner != RedisClusterView::kNobody) return owner;
  }
  throw std::runtime_error("slot " + std::to_string(slot) + " has no master");
}

void RedisCluster::begin_moving(int slot, int to) {
  const int from = master_of(slot);
  const std::string number = std::to_string(slot);
  if (from == to) throw std::runtime_error("slot " + number + " is there already");
  expect_ok("IMPORTING", node(to).command({"CLUSTER", "SETSLOT", number, "IMPORTING", id(from)}));
  expect_ok("MIGRATING", node(from).command({"CLUSTER", "SETSLOT", number, "MIGRATING", id(to)}));
  moves_[slot] = {from, to};
}

void RedisCluster::move_keys(int slot, int limit) {
  const Move move = moves_.at(slot);
  const std::string keys = node(move.from).command(
      {"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), std::to_string(limit)});
  if (keys.empty()) return;
  std::vector<std::string> words{"MIGRATE", "127.0.0.1", std::to_string(node(move.to).port()),
                                 "",        "0",         "5000"};
  if (!options_.password.empty()) words.insert(words.end(), {"AUTH", options_.password});
  words.emplace_back("KEYS");
  std::istringstream lines(keys);
  for (std::string key; std::getline(lines, key);) words.push_back(key);
  expect_ok("MIGRATE", node(move.from).command(words));
}

void RedisCluster::finish_moving(int slot) {
  const Move move = moves_.at(slot);
  const std::string number = std::to_string(slot);
  while (node(move.from).command({"CLUSTER", "COUNTKEYSINSLOT", number}) != "0") {
    move_keys(slot, 1000);
  }
  // The target first: if it had not heard of it, the slot could be nobody's.
  for (const int master : {move.to, move.from}) {
    expect_ok("SETSLOT", node(master).command({"CLUSTER", "SETSLOT", number, "NODE", id(move.to)}));
  }
  moves_.erase(slot);
  wait_until_ok();
}

void RedisCluster::move_slot(int slot, int to) {
  begin_moving(slot, to);
  finish_moving(slot);
}

int RedisCluster::kill_master_of(int slot) {
  const int master = master_of(slot);
  node(master).kill();
  return master;
}

bool RedisCluster::is_healthy(const RedisClusterView& view) {
  for (int i = 0; i < kNodes; ++i) {
    if (!node(i).running()) {
      if (view.owns_slots(i)) return false;
      continue;
    }
    const RedisClusterView::Node& state = view.nodes[static_cast<std::size_t>(i)];
    if (state.failed) return false;
    // One without slots that is no replica is a master that has just lost them and does not know.
    const bool is_replica = state.master != RedisClusterView::kNobody;
    if (view.owns_slots(i) == is_replica) return false;
    if (is_replica && !view.owns_slots(state.master)) return false;
  }
  return std::ranges::find(view.owners, RedisClusterView::kNobody) == view.owners.end();
}

bool RedisCluster::is_in_step(int index, bool is_master) {
  const std::string state = node(index).command({"INFO", "replication"});
  if (!contains(state, is_master ? "role:master" : "master_link_status:up")) return false;
  return !contains(state, "state=wait_bgsave") && !contains(state, "state=send_bulk");
}

bool RedisCluster::is_ok() {
  std::optional<RedisClusterView> agreed;
  for (int i = 0; i < kNodes; ++i) {
    if (!node(i).running()) continue;
    if (!contains(node(i).command({"CLUSTER", "INFO"}), "cluster_state:ok")) return false;
    RedisClusterView view = seen_by(i);
    // Of those that do not run each may think what it likes.
    for (int j = 0; j < kNodes; ++j) {
      if (!node(j).running()) view.nodes[static_cast<std::size_t>(j)] = {};
    }
    if (agreed && view != *agreed) return false;
    if (!agreed && !is_healthy(view)) return false;
    agreed = std::move(view);
    if (!is_in_step(i, agreed->owns_slots(i))) return false;
  }
  return agreed.has_value();
}

void RedisCluster::wait_until_ok() {
  wait_for("the cluster to be ok", [this] { return is_ok(); });
}

}  // namespace holdfast::test
