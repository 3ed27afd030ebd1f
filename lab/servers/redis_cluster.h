// RedisCluster: a real Redis Cluster of six nodes, 0 to 2 masters and 3 to 5 their replicas.
//
//   node      0             1               2
//   slots     0–5460        5461–10922      10923–16383
//   replica   3             4               5
//
// These are the roles at the beginning; failures and moves of slots change them. A node is held for
// failed after 1 s of silence, also when this machine stalls that long; its replica takes over 1 to
// 2 s later. CLUSTER SLOTS leaves replicas out until their master has sent them something.
//
// Thread safety: url() by any thread; of the others one at a time.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "redis_cluster_view.h"
#include "redis_server.h"
#include "temp_dir.h"

namespace holdfast::test {

struct RedisClusterOptions {
  bool tls = false;  // for clients and among the nodes
  std::string password;
};

class RedisCluster {
 public:
  using Options = RedisClusterOptions;

  static constexpr int kNodes = RedisClusterView::kNodes;
  static constexpr int kMasters = 3;
  static constexpr int kSlots = RedisClusterView::kSlots;

  // Returns when every node says cluster_state:ok, all agree on all slots, and the replicas are in
  // step with their masters.
  explicit RedisCluster(RedisClusterOptions options = {});

  // "redis+cluster://127.0.0.1:a,127.0.0.1:b,127.0.0.1:c" of the first masters; with TLS
  // "rediss+cluster://…?ca=FILE"; the password as ":PW@" before the first a.
  std::string url() const;

  RedisServer& node(int index) { return *nodes_.at(static_cast<std::size_t>(index)); }
  // The name that CLUSTER NODES gives it.
  static std::string id(int index) { return RedisClusterView::id_of(index); }
  int slot_of(const std::string& key);
  // The master that the nodes name; while they disagree, what one of them says.
  int master_of(int slot);

  // Moves a slot and its keys to another master; returns when all nodes know.
  void move_slot(int slot, int to);
  // Its two halves. In between the source answers ASK for keys that it does not have, and the
  // target serves them to who says ASKING. Single keys can be sent ahead by move_keys().
  void begin_moving(int slot, int to);
  void move_keys(int slot, int limit);
  void finish_moving(int slot);

  // Kills it and returns its index. After that, wait_until_ok() waits for the failover.
  int kill_master_of(int slot);
  // As in the constructor, among the nodes that run.
  void wait_until_ok();

 private:
  struct Move {
    int from;
    int to;
  };

  void choose_ports();
  std::string initial_view_of(int index) const;
  void start_node(int index);
  void promote_replicas();
  void require_full_coverage(const std::string& value);
  bool has_met_all(int index);
  bool all_nodes(const std::function<bool(int)>& condition) const;
  RedisClusterView seen_by(int index);
  bool is_healthy(const RedisClusterView& view);
  bool is_in_step(int index, bool is_master);
  bool is_ok();

  const RedisClusterOptions options_;
  TempDir directory_;
  std::array<int, kNodes> plain_ports_{};
  std::array<int, kNodes> tls_ports_{};
  std::array<int, kNodes> bus_ports_{};
  std::vector<std::unique_ptr<RedisServer>> nodes_;
  std::map<int, Move> moves_;
};

}  // namespace holdfast::test
