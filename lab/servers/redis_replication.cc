#include "redis_replication.h"

#include <map>
#include <sstream>
#include <stdexcept>

#include "certificates.h"
#include "waiting.h"

namespace holdfast::test {
namespace {

constexpr const char* kMasterName = "mymaster";
constexpr int kSentinels = 3;

// A reply of names and values in turn.
std::map<std::string, std::string> fields_of(const std::string& reply) {
  std::map<std::string, std::string> fields;
  std::istringstream lines(reply);
  for (std::string name, value; std::getline(lines, name) && std::getline(lines, value);) {
    fields[name] = value;
  }
  return fields;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

RedisWithSentinels::RedisWithSentinels(RedisReplicationOptions options)
    : options_(std::move(options)) {
  // Without a disk a replica would wait 5 s for others to come, and be online only a second later.
  std::vector<std::string> arguments{"--repl-diskless-sync", "no"};
  if (options_.tls) arguments.insert(arguments.end(), {"--tls-replication", "yes"});
  for (int i = 0; i <= options_.replicas; ++i) {
    servers_.push_back(std::make_unique<RedisServer>(
        RedisOptions{.tls = options_.tls, .password = options_.password, .arguments = arguments}));
    // As a command, since what is configured waits for a timer.
    if (i > 0) server(i).command({"REPLICAOF", "127.0.0.1", std::to_string(server(0).port())});
  }
  // The third one notices later and votes for another: if all three stand for election at once,
  // each votes for itself, and the next election is 4 s later.
  for (int i = 0; i < kSentinels; ++i) {
    sentinels_.push_back(
        std::make_unique<RedisSentinel>(RedisSentinelOptions{.master_name = kMasterName,
                                                             .master_port = server(0).port(),
                                                             .down_after_ms = i < 2 ? 500 : 800,
                                                             .tls = options_.tls,
                                                             .password = options_.password}));
    sentinels_.back()->publish_every(50);
  }
  wait_until_ready();
  for (const auto& sentinel : sentinels_) sentinel->publish_every(500);
}

std::string RedisWithSentinels::url() const {
  std::string places;
  for (const auto& sentinel : sentinels_) {
    places += (places.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(sentinel->port());
  }
  const std::string user = options_.password.empty() ? "" : ":" + options_.password + "@";
  const std::string rest = user + places + "/" + kMasterName;
  return options_.tls ? "rediss+sentinel://" + rest + "?ca=" + Certificates::shared().ca()
                      : "redis+sentinel://" + rest;
}

int RedisWithSentinels::named_by(RedisSentinel& sentinel) const {
  const std::string reply = sentinel.command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", kMasterName});
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (reply == "127.0.0.1\n" + std::to_string(servers_[i]->port())) return static_cast<int>(i);
  }
  return -1;
}

int RedisWithSentinels::master() {
  std::map<int, int> votes;
  for (const auto& sentinel : sentinels_) {
    if (!sentinel->running()) continue;
    const int named = named_by(*sentinel);
    if (named >= 0 && ++votes[named] * 2 > kSentinels) return named;
  }
  // In the middle of a change.
  if (votes.empty()) throw std::runtime_error("no sentinel names a master");
  return votes.begin()->first;
}

bool RedisWithSentinels::is_master(int index) {
  return server(index).command({"ROLE"}).starts_with("master\n");
}

int RedisWithSentinels::kill_master() {
  const int index = master();
  server(index).kill();
  return index;
}

int RedisWithSentinels::failover() {
  const int former = master();
  wait_for("SENTINEL FAILOVER to be accepted", [this] {
    const std::string reply = sentinel(0).command({"SENTINEL", "FAILOVER", kMasterName});
    if (reply != "OK") throw std::runtime_error(reply);  // of another one, perhaps: again
    return true;
  });
  return wait_for_another_master(former);
}

int RedisWithSentinels::wait_for_another_master(int former) {
  int present = former;
  wait_for("another master", [&] {
    present = master();
    if (present == former || !is_master(present)) return false;
    for (const auto& sentinel : sentinels_) {
      if (sentinel->running() && named_by(*sentinel) != present) return false;
    }
    return true;
  });
  return present;
}

bool RedisWithSentinels::knows_all(RedisSentinel& sentinel) {
  auto about_master = fields_of(sentinel.command({"SENTINEL", "MASTER", kMasterName}));
  if (about_master["flags"] != "master") return false;
  if (about_master["num-other-sentinels"] != std::to_string(kSentinels - 1)) return false;
  if (about_master["num-slaves"] != std::to_string(servers() - 1)) return false;
  const std::string quorum = sentinel.command({"SENTINEL", "CKQUORUM", kMasterName});
  return quorum.starts_with("OK");
}

bool RedisWithSentinels::is_ready() {
  const int present = master();
  for (int i = 0; i < servers(); ++i) {
    if (!server(i).running()) continue;
    const std::string state = server(i).command({"INFO", "replication"});
    if (!contains(state, i == present ? "role:master" : "master_link_status:up")) return false;
    if (contains(state, "state=wait_bgsave") || contains(state, "state=send_bulk")) return false;
  }
  for (const auto& sentinel : sentinels_) {
    if (!sentinel->running()) continue;
    if (named_by(*sentinel) != present || !knows_all(*sentinel)) return false;
  }
  return true;
}

void RedisWithSentinels::wait_until_ready() {
  wait_for("sentinels and replicas to be in step", [this] { return is_ready(); });
}

}  // namespace holdfast::test
