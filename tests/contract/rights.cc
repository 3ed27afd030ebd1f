#include "rights.h"

#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "etcd_server.h"
#include "holdfast/client.h"
#include "mariadb_server.h"
#include "postgres_server.h"
#include "redis_cluster.h"
#include "redis_masters.h"
#include "redis_replication.h"
#include "redis_server.h"
#include "zookeeper_server.h"

namespace holdfast::contract {

namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

template <class Server>
void run_on(Server& server, const std::vector<std::string>& commands) {
  for (const std::string& command : commands) {
    const std::string reply = server.command(words_of(command));
    if (reply != "OK") throw std::runtime_error(command + ": " + reply);
  }
}

// zkCli.sh reads them from its input, as an administrator would type them.
void run_zkcli(const std::string& url) {
  const std::string hosts = url.substr(url.find("://") + 3);
  const std::string program = "/usr/share/zookeeper/bin/zkCli.sh -server " + hosts;
  FILE* input = popen((program + " >/dev/null 2>&1").c_str(), "w");
  if (input == nullptr) throw std::runtime_error("popen: " + program);
  for (const std::string& line : commands_of("zookeeper")) {
    std::fprintf(input, "%s\n", line.c_str());
  }
  if (pclose(input) != 0) throw std::runtime_error(program + " failed");
}

std::vector<std::string> schema_for(const std::string& url, const std::string& recipe) {
  return Client::schema(with_option(url, "recipe=" + recipe)).value();
}

}  // namespace

std::vector<std::string> commands_of(const std::string& page, const std::string& label) {
  const std::string path = std::string(HOLDFAST_DOCS) + "/engines/" + page + ".md";
  const std::string mark = label.empty() ? " rights" : " rights=" + label;
  std::ifstream in(path);
  std::vector<std::string> commands;
  bool inside = false;
  bool goes_on = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
      if (inside) return commands;
      inside = line.ends_with(mark);
      continue;
    }
    if (!inside) continue;
    const bool continued = goes_on;
    goes_on = line.ends_with('\\');
    if (goes_on) line.back() = ' ';
    if (continued) {
      commands.back() += line;
    } else {
      commands.push_back(line);
    }
  }
  throw std::runtime_error(path + " has no block that ends in" + mark);
}

void grant_rights(test::RedisServer& server) { run_on(server, commands_of("redis")); }

void grant_rights(test::RedisWithSentinels& servers) {
  for (int i = 0; i < servers.servers(); ++i) {
    grant_rights(servers.server(i));
    run_on(servers.server(i), commands_of("redis", "sentinel"));
  }
  for (int i = 0; i < servers.sentinels(); ++i) {
    run_on(servers.sentinel(i), commands_of("redis", "sentinels"));
  }
}

void grant_rights(test::RedisCluster& cluster) {
  for (int i = 0; i < test::RedisCluster::kNodes; ++i) {
    grant_rights(cluster.node(i));
    run_on(cluster.node(i), commands_of("redis", "cluster"));
  }
}

void grant_rights(test::RedisMasters& masters) {
  for (std::size_t i = 0; i < masters.size(); ++i) {
    grant_rights(masters.at(i));
    run_on(masters.at(i), commands_of("redlock"));
  }
}

void grant_rights(test::EtcdServer& etcd) {
  for (const std::string& command : commands_of("etcd")) {
    std::vector<std::string> words = words_of(command);
    words.erase(words.begin());  // etcdctl itself
    etcd.ctl(words);
  }
}

void grant_rights(test::ZooKeeperServer& server) { run_zkcli(server.url()); }

void grant_rights(test::ZooKeeperEnsemble& ensemble) { run_zkcli(ensemble.url()); }

void grant_rights(test::MariadbServer& server, const std::string& recipe) {
  server.query("CREATE DATABASE app");
  if (recipe != "create") {
    test::MariadbClient administrator(server.port(), "app");
    for (const std::string& sql : schema_for(server.url(), recipe)) administrator.query(sql);
  }
  for (const std::string& sql : commands_of("mysql", recipe)) server.query(sql);
}

void grant_rights(test::PostgresServer& server, const std::string& recipe) {
  if (recipe != "create") {
    for (const std::string& sql : schema_for(server.url(), recipe)) server.query(sql);
  }
  for (const std::string& sql : commands_of("postgres", recipe)) server.query(sql);
}

std::string as_app(const std::string& url) {
  const std::size_t begin = url.find("://") + 3;
  const std::size_t path = url.find_first_of("/?", begin);
  const std::size_t at = url.find('@', begin);
  const std::size_t host = at < path ? at + 1 : begin;
  const std::string ours = url.substr(0, begin) + "app:PASSWORD@" + url.substr(host);
  if (url.find("+sentinel://") == std::string::npos) return ours;
  return with_option(ours, "sentinel_user=app&sentinel_password=PASSWORD");
}

std::string with_option(const std::string& url, const std::string& option) {
  return url + (url.find('?') == std::string::npos ? "?" : "&") + option;
}

}  // namespace holdfast::contract
