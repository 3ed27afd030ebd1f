// RedisSentinel: a real Redis Sentinel on a free port of 127.0.0.1 that watches one master.
//
// Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "redis_connection.h"
#include "server_process.h"
#include "temp_dir.h"

namespace holdfast::test {

struct RedisSentinelOptions {
  std::string master_name;
  int master_port = 0;
  int quorum = 2;
  int down_after_ms = 500;
  bool tls = false;      // of its own port and of the servers it watches
  std::string password;  // of the servers it watches; a sentinel has none itself
};

class RedisSentinel {
 public:
  // Returns when it answers; it knows the master then, and soon the replicas and other sentinels.
  explicit RedisSentinel(const RedisSentinelOptions& options);

  int port() const { return tls_port_ != 0 ? tls_port_ : plain_port_; }
  int plain_port() const { return plain_port_; }
  std::string log() const { return process_->log(); }
  bool running() { return process_->running(); }
  void kill();
  void pause() { process_->pause(); }
  void resume() { process_->resume(); }

  // How often it tells the others of itself and of the master; by default every 2000 ms. It also
  // asks the servers more often then. After four periods it makes a replica of a server that says
  // it is master but should not be. Only a leading sentinel knows better during a failover, and
  // it looks once a second: with less than 500 ms failovers are undone.
  void publish_every(int period_ms);

  // As RedisConnection::command(), without TLS.
  std::string command(const std::vector<std::string>& words);

 private:
  std::string configuration(const RedisSentinelOptions& options) const;

  TempDir directory_;
  int plain_port_;
  int tls_port_ = 0;
  std::unique_ptr<ServerProcess> process_;
  std::unique_ptr<RedisConnection> connection_;
};

}  // namespace holdfast::test
