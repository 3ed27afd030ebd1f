#include "redis_masters.h"

#include "certificates.h"

namespace holdfast::test {

RedisMasters::RedisMasters(RedisMastersOptions options) : options_(std::move(options)) {
  for (int i = 0; i < options_.count; ++i) {
    servers_.push_back(
        std::make_unique<RedisServer>(RedisOptions{.tls = options_.tls,
                                                   .arguments = options_.arguments,
                                                   .durable = options_.durable,
                                                   .movable_clock = options_.movable_clock}));
  }
}

std::string RedisMasters::url() const {
  std::string hosts;
  for (const auto& server : servers_) {
    hosts += (hosts.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(server->port()));
  }
  if (!options_.tls) return "redlock://" + hosts;
  return "redlocks://" + hosts + "?ca=" + Certificates::shared().ca();
}

}  // namespace holdfast::test
