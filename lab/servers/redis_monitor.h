// RedisMonitor: counts the commands that clients send to a Redis server, by MONITOR.
//
// Why not INFO: both `total_commands_processed` and the calls of `commandstats` also count what a
// script does by redis.call() (measured with 7.0.15: an EVAL with ten SETs counts as eleven).
// MONITOR tells them apart: it names "lua" where else it names the client's address.
//
// Thread safety: one thread at a time.
#pragma once

#include <set>
#include <string>

#include "redis_connection.h"

namespace holdfast::test {

class RedisMonitor {
 public:
  // Counts from here on.
  RedisMonitor(int port, const std::string& password);

  // The commands since the last call and before the one that has the marker among its words, which
  // somebody has already sent. Those from the addresses of `own` are left out.
  long long count_until(const std::string& marker, const std::set<std::string>& own);

 private:
  RedisConnection connection_;
};

}  // namespace holdfast::test
