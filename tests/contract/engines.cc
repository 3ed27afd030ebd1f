#include "engines.h"

#include "etcd_server.h"
#include "holdfast/client.h"
#include "mariadb_server.h"
#include "memcached_server.h"
#include "pgbouncer_server.h"
#include "postgres_server.h"
#include "redis_cluster.h"
#include "redis_masters.h"
#include "redis_replication.h"
#include "redis_server.h"
#include "rights.h"
#include "zookeeper_server.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <ostream>
#include <thread>

namespace holdfast::contract {

namespace {

class SqlitePlace final : public Place {
 public:
  std::string url() const override { return "sqlite://" + (folder_.path() / "locks.db").string(); }

 private:
  TempDir folder_;
};

class MemoryPlace final : public Place {
 public:
  std::string url() const override { return "memory:place" + std::to_string(number_); }

 private:
  inline static int places = 0;
  const int number_ = ++places;
};

class RedisPlace final : public Place {
 public:
  RedisPlace() { grant_rights(server_); }
  std::string url() const override { return with_option(as_app(server_.url()), "prefix=app:"); }
  std::string admin_url() const override { return server_.url(); }
  std::string outside_url() const override { return as_app(server_.url()); }

 private:
  test::RedisServer server_;
};

class MemcachedPlace final : public Place {
 public:
  std::string url() const override { return server_.url(); }

 private:
  test::MemcachedServer server_;
};

// A set-up that takes long to start is shared by the tests of this process, each of which has a
// prefix of its own, below the one that the user has rights to.
template <class Servers>
class SharedPlace final : public Place {
 public:
  SharedPlace(bool tls, std::string prefix) : servers_(shared(tls)), prefix_(std::move(prefix)) {
    static int places = 0;
    number_ = std::to_string(++places);
  }
  std::string url() const override {
    return with_option(as_app(servers_.url()), "prefix=" + prefix_ + "place" + number_ + ":");
  }
  std::string admin_url() const override {
    return with_option(servers_.url(), "prefix=admin" + number_ + ":");
  }
  std::string outside_url() const override {
    return with_option(as_app(servers_.url()), "prefix=outside:");
  }

 private:
  static Servers& shared(bool tls) {
    static std::map<bool, Servers> all;
    const auto [found, made] = all.try_emplace(tls, typename Servers::Options{.tls = tls});
    if (made) grant_rights(found->second);
    return found->second;
  }

  Servers& servers_;
  const std::string prefix_;
  std::string number_;
};

// A JVM takes long to start as well. Each test has a chroot of its own, below the user's.
template <class Servers>
class ZooKeeperPlace final : public Place {
 public:
  ZooKeeperPlace() : servers_(shared()), number_(++places()) {
    // The suite goes on without the leader that it began with, and then with all of them again.
    if constexpr (std::is_same_v<Servers, test::ZooKeeperEnsemble>) {
      static std::size_t killed = 0;
      if (number_ == 60) servers_.at(killed = servers_.leader()).kill();
      if (number_ == 60) static_cast<void>(servers_.leader());
      if (number_ == 120) servers_.at(killed).restart();
    }
  }
  std::string url() const override {
    return as_app(servers_.url()) + "/locks/place" + std::to_string(number_);
  }
  std::string admin_url() const override { return servers_.url() + "/admin"; }
  // Without a login nobody gets into the user's chroot.
  std::string outside_url() const override { return servers_.url() + "/locks/place0"; }

 private:
  static Servers& shared() {
    static Servers servers;
    static const bool granted = (grant_rights(servers), true);
    static_cast<void>(granted);
    return servers;
  }
  static int& places() {
    static int count = 0;
    return count;
  }

  Servers& servers_;
  const int number_;
};

template <class Servers>
EngineUnderTest zookeeper_on(const std::string& name) {
  return {.name = name,
          .start = [] { return std::make_unique<ZooKeeperPlace<Servers>>(); },
          .notices_death = false,
          .short_ttl = std::chrono::milliseconds(1000),
          .sections_per_process = 150};
}

// One server for the tests of this process. The names of its locks are the whole server's, so each
// test has a prefix of its own.
class MysqlPlace final : public Place {
 public:
  explicit MysqlPlace(const std::string& recipe) : server_(shared(recipe)) {
    static int places = 0;
    options_ = "recipe=" + recipe + "&prefix=place" + std::to_string(++places) + ":";
  }
  std::string url() const override {
    const std::string port = std::to_string(server_.port());
    return "mysql://app:PASSWORD@127.0.0.1:" + port + "/app?" + options_;
  }
  std::string admin_url() const override { return server_.url(options_); }

 private:
  static test::MariadbServer& shared(const std::string& recipe) {
    static std::map<std::string, test::MariadbServer> all;
    const auto [found, made] = all.try_emplace(recipe);
    if (made) grant_rights(found->second, recipe);
    return found->second;
  }

  test::MariadbServer& server_;
  std::string options_;
};

EngineUnderTest mysql_session(const std::string& recipe) {
  return {.name = "mysql_" + recipe,
          .start = [recipe] { return std::make_unique<MysqlPlace>(recipe); },
          .shared_mode = false,
          .permit_mode = false,
          .shows_waiters_early = true,
          // It is, but only as soon as the server has looked.
          .notices_death = false,
          .outlives_process = false,
          .sections_per_process = 250};
}

// As many connections as the tests with many locks need.
class PostgresPlace final : public Place {
 public:
  explicit PostgresPlace(const std::string& recipe) : server_(shared(recipe)) {
    static int places = 0;
    options_ = "recipe=" + recipe + "&prefix=place" + std::to_string(++places) + ":";
  }
  std::string url() const override { return with_option(as_app(server_.url()), options_); }
  std::string admin_url() const override { return with_option(server_.url(), options_); }

 private:
  static test::PostgresServer& shared(const std::string& recipe) {
    static std::map<std::string, test::PostgresServer> all;
    const test::PostgresOptions options{.arguments = {"-c", "max_connections=700"}};
    const auto [found, made] = all.try_emplace(recipe, options);
    if (made) grant_rights(found->second, recipe);
    return found->second;
  }

  test::PostgresServer& server_;
  std::string options_;
};

// Of the locks of rows, one that tries can pass one that is just being woken.
EngineUnderTest postgres_session(const std::string& recipe, bool shared_mode, bool fifo) {
  return {.name = "postgres_" + recipe,
          .start = [recipe] { return std::make_unique<PostgresPlace>(recipe); },
          .shared_mode = shared_mode,
          .permit_mode = false,
          .fifo = fifo,
          .shows_waiters_early = true,
          .notices_death = false,
          .outlives_process = false,
          .sections_per_process = 250};
}

// The same server behind a PgBouncer that pools transactions, with fewer connections than clients have.
class PooledPlace final : public Place {
 public:
  PooledPlace() : pooler_(shared()) {
    static int places = 0;
    options_ = "pooled=yes&prefix=place" + std::to_string(++places) + ":";
  }
  std::string url() const override { return with_option(as_app(pooler_.url()), options_); }
  std::string admin_url() const override { return with_option(pooler_.url(), options_); }

 private:
  static test::PgbouncerServer& shared() {
    static test::PostgresServer server;
    static const bool granted = (grant_rights(server, "table"), true);
    static_cast<void>(granted);
    static test::PgbouncerServer pooler(server.port());
    return pooler;
  }

  test::PgbouncerServer& pooler_;
  std::string options_;
};

class MemcachedQuorumPlace final : public Place {
 public:
  std::string url() const override {
    std::string hosts;
    for (const test::MemcachedServer& server : servers_) {
      hosts += (hosts.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(server.port()));
    }
    return "quorum+memcached://" + hosts;
  }

 private:
  std::array<test::MemcachedServer, 3> servers_;
};

template <int kCount>
class Masters : public test::RedisMasters {
 public:
  explicit Masters(const Options& options)
      : RedisMasters(Options{.tls = options.tls, .count = kCount}) {}
};

template <int kCount>
EngineUnderTest redlock_of(const std::string& name, bool tls) {
  return {.name = name,
          .start = [tls] { return std::make_unique<SharedPlace<Masters<kCount>>>(tls, "app:"); },
          .permit_mode = false,
          .fifo = false,
          .records = false,
          .notices_death = false};
}

template <int kCount>
class EtcdMembers : public test::EtcdServer {
 public:
  explicit EtcdMembers(const Options& options)
      : EtcdServer(Options{.tls = options.tls,
                           .count = kCount,
                           .password = "ROOTS",
                           .arguments = {"--bcrypt-cost", "4"}}) {
    if (kCount > 1 && std::getenv("HOLDFAST_KILL_LEADERS")) {
      killer_ = std::jthread([this](const std::stop_token& stop) { kill_leaders(stop); });
    }
  }
  // Before the servers go.
  ~EtcdMembers() { killer_ = {}; }

 private:
  // One after the other, as long as the tests run; each comes back.
  void kill_leaders(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (int i = 0; i < 80 && !stop.stop_requested(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
      if (stop.stop_requested()) return;
      const std::size_t victim = leader();
      kill(victim);
      wait_until_ready();
      restart(victim);
    }
  }

  std::jthread killer_;
};

template <int kCount>
EngineUnderTest etcd_of(const std::string& name, bool tls) {
  return {
      .name = name,
      .start = [tls] { return std::make_unique<SharedPlace<EtcdMembers<kCount>>>(tls, "/locks/"); },
      .notices_death = false,
      .short_ttl = std::chrono::seconds(1),
      .sections_per_process = 60};
}

template <class Servers>
EngineUnderTest redis_on(const std::string& name, bool tls) {
  return {.name = name,
          .start = [tls] { return std::make_unique<SharedPlace<Servers>>(tls, "app:"); },
          .notices_death = false};
}

std::vector<EngineUnderTest> all_engines() {
  std::vector<EngineUnderTest> engines{
      {.name = "sqlite",
       .start = [] { return std::make_unique<SqlitePlace>(); },
       .opens_after_fork = false},
      {.name = "memory",
       .start = [] { return std::make_unique<MemoryPlace>(); },
       .between_processes = false,
       .notices_death = false,
       .opens_after_fork = false},
      {.name = "redis",
       .start = [] { return std::make_unique<RedisPlace>(); },
       .notices_death = false},
      redis_on<test::RedisServer>("redis_tls", true),
      redis_on<test::RedisWithSentinels>("redis_sentinel", false),
      redis_on<test::RedisWithSentinels>("redis_sentinel_tls", true),
      redis_on<test::RedisCluster>("redis_cluster", false),
      redis_on<test::RedisCluster>("redis_cluster_tls", true),
      redlock_of<3>("redlock_3", false),
      redlock_of<5>("redlock_5", false),
      redlock_of<3>("redlock_3_tls", true),
      etcd_of<1>("etcd", false),
      etcd_of<3>("etcd_3", false),
      etcd_of<1>("etcd_tls", true),
      {.name = "memcached",
       .start = [] { return std::make_unique<MemcachedPlace>(); },
       .shared_mode = false,
       .permit_mode = false,
       .fifo = false,
       .records = false,
       .shows_waiters = false,
       .notices_death = false,
       .short_ttl = std::chrono::seconds(2),
       .sections_per_process = 250},
      {.name = "quorum_memcached",
       .start = [] { return std::make_unique<MemcachedQuorumPlace>(); },
       .shared_mode = false,
       .permit_mode = false,
       .fifo = false,
       .increasing_tokens = false,
       .records = false,
       .shows_waiters = false,
       .notices_death = false,
       .short_ttl = std::chrono::seconds(2),
       .sections_per_process = 60},
      zookeeper_on<test::ZooKeeperServer>("zookeeper"),
      zookeeper_on<test::ZooKeeperEnsemble>("zookeeper_3"),
      mysql_session("named"),
      mysql_session("row"),
      postgres_session("advisory", true, true),
      postgres_session("row", false, false),
      {.name = "mysql_table",
       .start = [] { return std::make_unique<MysqlPlace>("table"); },
       .notices_death = false,
       .sections_per_process = 250},
      {.name = "postgres_table",
       .start = [] { return std::make_unique<PostgresPlace>("table"); },
       .notices_death = false,
       .sections_per_process = 400},
      {.name = "postgres_table_pooled",
       .start = [] { return std::make_unique<PooledPlace>(); },
       .notices_death = false,
       .sections_per_process = 60},
  };
  return engines;
}

// Whether the build has it: an option may have left it out.
bool built_in(const EngineUnderTest& engine) {
  const std::string family =
      engine.name.starts_with("quorum_") ? "quorum+" : engine.name.substr(0, engine.name.find('_'));
  return std::ranges::any_of(Client::engines(), [&](const Client::BuiltIn& one) {
    return one.example_url.starts_with(family);
  });
}

}  // namespace

const std::vector<EngineUnderTest>& engines_under_test() {
  static const std::vector<EngineUnderTest> built = [] {
    std::vector<EngineUnderTest> list = all_engines();
    std::erase_if(list, [](const EngineUnderTest& engine) { return !built_in(engine); });
    return list;
  }();
  return built;
}

void PrintTo(const EngineUnderTest& engine, std::ostream* out) { *out << engine.name; }

}  // namespace holdfast::contract
