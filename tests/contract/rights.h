// The least-privileged user of each engine, as docs/engines/PAGE.md grants it.
//
// A fenced block of that page whose first line ends in "rights" or "rights=LABEL" has the commands.
// The suite runs them on its servers and connects as the user that they make, so a page that grants
// too little fails the suite.
#pragma once

#include <string>
#include <vector>

namespace holdfast::test {
class EtcdServer;
class MariadbServer;
class PostgresServer;
class RedisCluster;
class RedisMasters;
class RedisServer;
class RedisWithSentinels;
class ZooKeeperEnsemble;
class ZooKeeperServer;
}  // namespace holdfast::test

namespace holdfast::contract {

// The lines of that block, those that end in a backslash joined with the next. Throws
// std::runtime_error if there is none.
std::vector<std::string> commands_of(const std::string& page, const std::string& label = "");

// Makes the user on all servers.
void grant_rights(test::RedisServer& server);
void grant_rights(test::RedisWithSentinels& servers);
void grant_rights(test::RedisCluster& cluster);
void grant_rights(test::RedisMasters& masters);
void grant_rights(test::EtcdServer& etcd);
void grant_rights(test::ZooKeeperServer& server);
void grant_rights(test::ZooKeeperEnsemble& ensemble);
// `recipe`, or "create" for a user that makes the tables itself; else the administrator makes them.
// MySQL: in the database `app`.
void grant_rights(test::MariadbServer& server, const std::string& recipe);
void grant_rights(test::PostgresServer& server, const std::string& recipe);

// The URL with that user's login instead of its own.
std::string as_app(const std::string& url);
// The URL with one more option.
std::string with_option(const std::string& url, const std::string& option);

}  // namespace holdfast::contract
