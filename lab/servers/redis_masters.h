// RedisMasters: N independent Redis servers, as Redlock wants them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "redis_server.h"

namespace holdfast::test {

struct RedisMastersOptions {
  bool tls = false;
  int count = 5;
  bool durable = false;                // what was answered survives kill()
  std::vector<std::string> arguments;  // of redis-server; they win over ours
  bool movable_clock = false;          // see RedisServer::clock()
};

class RedisMasters {
 public:
  using Options = RedisMastersOptions;

  explicit RedisMasters(RedisMastersOptions options = {});

  // "redlock://127.0.0.1:P1,127.0.0.1:P2,…", or "redlocks://…?ca=FILE".
  std::string url() const;
  std::size_t size() const { return servers_.size(); }
  RedisServer& at(std::size_t index) { return *servers_.at(index); }

 private:
  const RedisMastersOptions options_;
  std::vector<std::unique_ptr<RedisServer>> servers_;
};

}  // namespace holdfast::test
