// RedisWithSentinels: a master, its replicas and three sentinels that watch over them, all real.
//
//   sentinels (a, b, c; quorum 2) --watch--> servers 0 (the first master), 1, … (its replicas)
//
// A master is down after 500 ms of silence, also when this machine stalls that long: ask master()
// rather than remember it. One that comes back, or was replaced while it ran, takes writes for
// another 2 s until it is made a replica (8 s with the sentinels' default settings): what it
// confirms meanwhile is lost.
//
// Thread safety: url() by any thread; of the others one at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "redis_sentinel.h"
#include "redis_server.h"

namespace holdfast::test {

struct RedisReplicationOptions {
  int replicas = 1;
  bool tls = false;      // of all servers and sentinels, also among themselves
  std::string password;  // of the servers; sentinels have none
};

class RedisWithSentinels {
 public:
  using Options = RedisReplicationOptions;

  // Returns when the sentinels know each other and the replicas, and these are in step.
  explicit RedisWithSentinels(RedisReplicationOptions options = {});

  // "redis+sentinel://127.0.0.1:a,127.0.0.1:b,127.0.0.1:c/mymaster", with TLS
  // "rediss+sentinel://…/mymaster?ca=FILE"; the servers' password as ":PW@" before the first a.
  std::string url() const;

  int master();  // the server that most sentinels name
  RedisServer& server(int index) { return *servers_.at(static_cast<std::size_t>(index)); }
  int servers() const { return static_cast<int>(servers_.size()); }
  int sentinels() const { return static_cast<int>(sentinels_.size()); }
  RedisSentinel& sentinel(int index) { return *sentinels_.at(static_cast<std::size_t>(index)); }

  // Kills the present master and returns its index. See wait_for_another_master().
  int kill_master();
  // Makes the sentinels choose another master; returns it when it is one.
  int failover();
  // The new master, when all sentinels that run name one other than `former` and it says so, too.
  int wait_for_another_master(int former);
  // As in the constructor, among the servers and sentinels that run.
  void wait_until_ready();

 private:
  // The index of the server that a sentinel names; -1 if it is none of ours.
  int named_by(RedisSentinel& sentinel) const;
  bool is_master(int index);
  bool knows_all(RedisSentinel& sentinel);
  bool is_ready();

  const RedisReplicationOptions options_;
  std::vector<std::unique_ptr<RedisServer>> servers_;
  std::vector<std::unique_ptr<RedisSentinel>> sentinels_;
};

}  // namespace holdfast::test
