#include <filesystem>
#include <utility>

#include "lab/torture/sites.h"
#include "redis_server.h"
#include "waiting.h"

namespace holdfast::lab {
namespace {

using test::Proxy;
using test::ProxyMode;
using test::RedisOptions;
using test::RedisServer;

RedisOptions to_redis(Keeping keeping) {
  RedisOptions options{.durable = keeping == Keeping::everything, .movable_clock = true};
  if (keeping == Keeping::every_second) {
    options.arguments = {"--appendonly", "yes", "--appendfsync", "everysec"};
  }
  return options;
}

class RedisSiteServer : public SiteServer {
 public:
  explicit RedisSiteServer(const RedisOptions& options) : redis_(options) {}

  int port() const override { return redis_.port(); }
  void pause() override { redis_.pause(); }
  void resume() override { redis_.resume(); }
  void kill() override { redis_.kill(); }
  void restart() override { redis_.restart(); }
  test::MovableClock& clock() override { return redis_.clock(); }
  bool alive() override { return redis_.running(); }

  // SIGKILL alone loses nothing, whatever the policy: the page cache survives. A power cut takes
  // what was not flushed: the end of the append-only file.
  std::vector<std::filesystem::path> data() const override {
    return {redis_.directory() / "appendonlydir"};
  }
  void stall_disk(bool stalled) override { redis_.clock().stall_disk(stalled); }
  void fill_memory(bool full) override {
    if (!redis_.running()) return;
    redis_.command({"CONFIG", "SET", "maxmemory", full ? "1" : "0"});
  }

  RedisServer& redis() { return redis_; }

 private:
  RedisServer redis_;
};

std::string hosts(const std::vector<int>& ports) {
  std::string text;
  for (const int port : ports)
    text += (text.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(port));
  return text;
}

std::vector<std::unique_ptr<SiteServer>> servers(int count, Keeping keeping) {
  std::vector<std::unique_ptr<SiteServer>> list;
  for (int i = 0; i < count; ++i)
    list.push_back(std::make_unique<RedisSiteServer>(to_redis(keeping)));
  return list;
}

std::string redis_url(const std::vector<int>& ports) { return "redis://" + hosts(ports); }

// A master with a replica that follows it through a proxy.
class ReplicatedRedis : public Site {
 public:
  explicit ReplicatedRedis(Keeping keeping)
      : Site(servers(1, keeping), redis_url),
        replica_({.arguments = {"--repl-diskless-sync", "no"}, .movable_clock = true}),
        link_(server(1).port()) {
    replica_.command({"REPLICAOF", "127.0.0.1", std::to_string(link_.port())});
    test::wait_for("the replica to be in step", [this] {
      return replica_.command({"INFO", "replication"}).find("master_link_status:up") !=
             std::string::npos;
    });
    // The master counts it only when it has acknowledged something.
    auto& master = static_cast<RedisSiteServer&>(server(1)).redis();
    test::wait_for("the replica to acknowledge", [&] {
      master.command({"SET", "holdfast-torture-replicated", "1"});
      return master.command({"WAIT", "1", "1000"}) == "1";
    });
  }

  std::string who_died() override { return replica_.running() ? Site::who_died() : "the replica"; }
  void cut_replication() override { link_.set_both(ProxyMode::drop); }

 private:
  int promote() override {
    replica_.command({"REPLICAOF", "NO", "ONE"});
    return replica_.port();
  }

  RedisServer replica_;
  Proxy link_;
};

}  // namespace

std::unique_ptr<Site> open_redis(const SiteOptions& options) {
  if (options.replica) return std::make_unique<ReplicatedRedis>(options.keeping);
  return std::make_unique<Site>(servers(1, options.keeping), redis_url);
}

std::unique_ptr<Site> open_redlock(const SiteOptions& options) {
  // A node has a second to answer: on a machine that is busy with other things it may need more
  // than the usual quarter. A node that restarts is silent for the longest ttl.
  const std::string settings =
      std::string("?node_timeout_ms=1000") + (options.short_ttls ? "&longest_ttl_ms=2000" : "");
  return std::make_unique<Site>(
      servers(5, options.keeping),
      [settings](const std::vector<int>& ports) { return "redlock://" + hosts(ports) + settings; });
}

}  // namespace holdfast::lab
