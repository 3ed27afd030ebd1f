// The workloads by name, and what is expected of each.
#include "lab/sim/schedule_workload.h"

namespace holdfast::lab::sim {

using enum FaultKind;

namespace {

using Expectations = std::vector<Expectation>;

Expectations and_unfenced_harm(Expectations expected) {
  for (Expectation& harm : unfenced_harm()) expected.push_back(std::move(harm));
  return expected;
}

Expectations if_clocks_jump() {
  return and_unfenced_harm(
      {{Finding::overlap, {FaultSet(server_jump)}, "the server's clock jumps"}});
}

Expectations if_it_restarts_empty() {
  const std::vector<FaultSet> tokens = {FaultSet(server_wipe, server_jump)};
  return and_unfenced_harm(
      {{Finding::overlap, {FaultSet(server_wipe), FaultSet(server_jump)}, "it restarts empty"},
       {Finding::bad_token, tokens, "it restarts empty, its clock behind"},
       {Finding::harm_full_fence, tokens, "two of those tokens are the same", false}});
}

Expectations if_the_replica_is_behind() {
  const std::vector<FaultSet> tokens = {FaultSet(failover, server_jump), FaultSet(failover, drift)};
  return and_unfenced_harm(
      {{Finding::overlap, {FaultSet(failover), FaultSet(server_jump)}, "the replica is behind"},
       {Finding::bad_token, tokens, "the replica is behind, and so is its clock"},
       {Finding::harm_full_fence, tokens, "two of those tokens are the same", false}});
}

Expectations if_memory_is_lost() {
  const std::vector<FaultSet> lost = {FaultSet(eviction), FaultSet(server_wipe)};
  return and_unfenced_harm({{Finding::overlap, lost, "it evicts or restarts"},
                            {Finding::bad_token, lost, "it evicts or restarts"},
                            {Finding::harm_full_fence, lost, "two tokens are the same", false}});
}

Expectations if_node_clocks_jump() {
  return and_unfenced_harm(
      {{Finding::overlap, {FaultSet(server_jump), FaultSet(unsafe_rejoin)}, "nodes' clocks jump"}});
}

std::vector<std::unique_ptr<Workload>> make_workloads() {
  std::vector<std::unique_ptr<Workload>> all;
  const auto store = [&](const char* name, const char* summary, const StoreModel& model,
                         Expectations expected) {
    all.push_back(std::make_unique<StoreWorkload>(name, summary, model, std::move(expected)));
  };
  store("lease", "lease and renewal on a server that makes no mistakes", ideal_store(),
        unfenced_harm());
  store("redis", "one Redis that keeps its data: ttl by a wall clock that jumps", redis_store(),
        if_clocks_jump());
  store("redis-amnesia", "one Redis that restarts empty: tokens begin with the clock",
        redis_amnesia_store(), if_it_restarts_empty());
  store("redis-replica", "a Redis and its asynchronous replica, which takes over",
        redis_replica_store(), if_the_replica_is_behind());
  store("memcached", "memcached: whole seconds, eviction, restart", memcached_store(),
        if_memory_is_lost());
  store("session", "ZooKeeper, etcd: a line of sessions, kept by consensus", session_store(),
        unfenced_harm());
  store("sql", "a row with a time in a durable database, whose clock jumps", sql_store(),
        if_clocks_jump());
  all.push_back(std::make_unique<LongQuorumWorkload>(
      "redlock", "the quorum engine with lease and renewal: every fault, long schedules",
      QuorumModel{}, if_node_clocks_jump()));
  all.push_back(std::make_unique<BriefQuorumWorkload>(
      "redlock-short", "the quorum engine alone: few attempts, few faults, very many schedules",
      QuorumModel{}, if_node_clocks_jump()));
  return all;
}

}  // namespace

const std::vector<std::unique_ptr<Workload>>& workloads() {
  static const std::vector<std::unique_ptr<Workload>> all = make_workloads();
  return all;
}

}  // namespace holdfast::lab::sim
