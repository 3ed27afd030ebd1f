// RedisTraffic: which commands clients send to a server, apart from what scripts execute inside.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "redis_raw.h"

namespace holdfast::bench {

// By experiment (Redis 7.0): a redis.call() inside a script counts as a call of its command, in INFO
// commandstats and in total_commands_processed alike; a script with SET, PUBLISH and PING shows one
// call each of eval, set, publish and ping. Only MONITOR tells them apart: there the script's own are
// marked "lua". So what clients sent is commandstats minus MONITOR's lua lines between the same two
// INFO commands, which are in its stream too. (MONITOR alone would not do: it leaves out
// administrative commands.)
class RedisTraffic {
 public:
  explicit RedisTraffic(int port);

  // From here …
  void begin();
  // … to here. By command, subcommands together. What happens in between waits in the server's
  // output buffer for us, some hundred bytes per command, so that reading it disturbs nobody.
  std::map<std::string, std::int64_t> end();

 private:
  std::map<std::string, std::int64_t> command_stats();
  void read_line();

  RedisRaw control_;
  RedisRaw monitor_;
  int infos_seen_ = 0;
  int infos_sent_ = 0;
  std::map<std::string, std::int64_t> before_;
  std::map<std::string, std::int64_t> by_scripts_;
};

}  // namespace holdfast::bench
