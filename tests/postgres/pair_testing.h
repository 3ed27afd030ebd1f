// A primary and a standby that follows it, for tests in which the one takes the other's place.
#pragma once

#include "postgres_testing.h"

namespace holdfast::postgres_tests {

inline test::PostgresOptions as_primary(std::vector<std::string> more = {}) {
  test::PostgresOptions options{
      .arguments = {"-c", "wal_level=replica", "-c", "max_wal_senders=4"}};
  for (std::string& word : more) options.arguments.push_back(std::move(word));
  return options;
}

class Pair {
 public:
  explicit Pair(std::vector<std::string> arguments = {})
      : primary(as_primary(std::move(arguments))), standby({.follows = primary.port()}) {}

  // Waits until the standby has all that the primary has committed.
  void catch_up() const {
    const std::string end = primary.query("SELECT pg_current_wal_lsn()");
    ASSERT_TRUE(eventually(
        [&] { return standby.query("SELECT pg_last_wal_replay_lsn() >= '" + end + "'") == "t"; }));
  }
  void switch_over() {
    catch_up();
    primary.kill();
    standby.promote();
  }

  PostgresServer primary;
  PostgresServer standby;
};

inline std::string url_of(std::vector<int> ports, const std::string& options = "") {
  std::string hosts;
  for (const int port : ports)
    hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
  return "postgres://postgres@" + hosts + "/postgres" + options;
}

inline std::string url_of(const Pair& pair, const std::string& options = "") {
  return url_of({pair.primary.port(), pair.standby.port()}, options);
}

}  // namespace holdfast::postgres_tests
