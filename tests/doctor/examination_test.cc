// Real servers' reports of themselves, and what `require` makes of them.
#include "doctor_testing.h"
#include "etcd_server.h"
#include "mariadb_server.h"
#include "memcached_server.h"
#include "postgres_server.h"
#include "proxy.h"
#include "redis_masters.h"
#include "redis_server.h"
#include "zookeeper_server.h"

namespace holdfast::doctor_tests {
namespace {

using test::EtcdServer;
using test::MariadbServer;
using test::MemcachedServer;
using test::PostgresServer;
using test::RedisServer;

const LockOptions kDemanding{.require = {.exclusion = Exclusion::bounded_by_clocks}};

// ---- Requirements ------------------------------------------------------------------------------

TEST(Requirement, ThatThisServerCannotMeetIsRefusedBeforeAnythingIsHeld) {
  RedisServer forgetful;
  Client client = open(forgetful.url());
  EXPECT_EQ(client.guarantees().exclusion, Exclusion::bounded_by_clocks) << "nobody was asked yet";
  EXPECT_FALSE(client.guarantees().of_server);
  Mutex mutex = client.mutex("x", kDemanding);
  const Result<Lease> lease = mutex.try_acquire();
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.code(), Code::unsupported);
  EXPECT_THAT(lease.message(), HasSubstr("keeps no log of its writes"));
  EXPECT_THAT(lease.message(), HasSubstr("CONFIG SET appendonly yes")) << "what mends it";
  EXPECT_EQ(forgetful.command({"DBSIZE"}), "0") << "nothing was asked for";
  EXPECT_TRUE(client.guarantees().of_server);
  // From now on it is known when the lock is made.
  EXPECT_THROW(client.mutex("y", kDemanding), LockError);
}

TEST(Requirement, ThatThisServerMeetsIsGranted) {
  RedisServer server({.arguments = {"--appendonly", "yes", "--appendfsync", "always"}});
  EXPECT_EQ(try_at(server.url(), kDemanding), "granted");
}

TEST(Requirement, IsCheckedAgainWhenAnotherServerAnswers) {
  RedisServer durable({.arguments = {"--appendonly", "yes", "--appendfsync", "always"}});
  test::Proxy proxy(durable.port());
  Client client = open("redis://127.0.0.1:" + std::to_string(proxy.port()));
  Mutex mutex = client.mutex("x", kDemanding);
  ASSERT_EQ(told(mutex.try_acquire()), "granted");
  // As after a failover that nobody announced: the same address, a server that is set otherwise.
  durable.command({"CONFIG", "SET", "appendonly", "no"});
  proxy.reset();
  const Result<Lease> lease = mutex.try_acquire_for(5s);
  EXPECT_THAT(told(lease), HasSubstr("unsupported"));
  EXPECT_EQ(client.guarantees().exclusion, Exclusion::best_effort);
  const auto freed = std::chrono::steady_clock::now() + 5s;
  while (durable.command({"EXISTS", "x"}) != "0" && std::chrono::steady_clock::now() < freed) {
  }
  EXPECT_EQ(durable.command({"EXISTS", "x"}), "0") << "what was granted must not stay";
}

TEST(Requirement, OfNothingAsksNothingMore) {
  RedisServer forgetful;
  EXPECT_EQ(try_at(forgetful.url()), "granted");
}

// ---- Products ----------------------------------------------------------------------------------

TEST(Examined, RedisTellsWhatItIsSetTo) {
  RedisServer server({.arguments = {"--appendonly", "yes", "--appendfsync", "everysec",
                                    "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}});
  const Examination found = open(server.url()).examine().value();
  EXPECT_THAT(found.product, testing::AnyOf("Redis", "Valkey"));
  EXPECT_NE(found.version, "");
  EXPECT_EQ(finding(found, "redis-fsync").severity, Severity::warning);
  EXPECT_EQ(finding(found, "redis-eviction").severity, Severity::warning);
  ASSERT_TRUE(found.clock.has_value());
  EXPECT_LT(found.clock->error, 2s);
  EXPECT_EQ(finding(found, "clock").severity, Severity::good);
}

TEST(Examined, RedisWithoutTheRightToScriptsSaysSo) {
  RedisServer server;
  server.command({"ACL", "SETUSER", "weak", "on", ">pw", "~*", "+@all", "-eval", "-evalsha"});
  const std::string url = "redis://weak:pw@127.0.0.1:" + std::to_string(server.port());
  const Examination found = open(url).examine().value();
  EXPECT_EQ(finding(found, "redis-rights").severity, Severity::warning);
  EXPECT_THAT(finding(found, "redis-rights").what, HasSubstr("EVAL"));
}

TEST(Examined, PostgresTellsDurabilityRightsAndRole) {
  PostgresServer server({.arguments = {"-c", "fsync=off"}});
  Client owner = open(server.url());
  ASSERT_EQ(told(owner.mutex("x").try_acquire()), "granted");  // makes the tables
  const Examination found = owner.examine().value();
  EXPECT_EQ(found.product, "PostgreSQL");
  EXPECT_EQ(finding(found, "postgres-fsync").severity, Severity::warning);
  EXPECT_EQ(found.guarantees.token, TokenStrength::volatile_memory);
  server.query("CREATE ROLE weak LOGIN; GRANT SELECT ON holdfast_lock TO weak");
  const Examination weak = open(server.url("weak")).examine().value();
  EXPECT_THAT(finding(weak, "postgres-rights").what, HasSubstr("INSERT on holdfast_lock"));
  EXPECT_THAT(finding(weak, "postgres-rights").what,
              testing::Not(HasSubstr("SELECT on holdfast_lock")));
  PostgresServer standby({.follows = server.port()});
  const Examination behind = open(standby.url()).examine().value();
  EXPECT_EQ(finding(behind, "postgres-standby").severity, Severity::warning);
}

TEST(Examined, MariaDbTellsDurabilityRightsAndRole) {
  MariadbServer server({.arguments = {"--innodb-flush-log-at-trx-commit=0"}});
  Client owner = open(server.url());
  ASSERT_EQ(told(owner.mutex("x").try_acquire()), "granted");  // makes the tables
  const Examination found = owner.examine().value();
  EXPECT_EQ(finding(found, "mysql-flush").severity, Severity::warning);
  EXPECT_EQ(owner.guarantees().exclusion, Exclusion::best_effort);
  server.query("CREATE USER weak@'%'");
  server.query("GRANT SELECT ON holdfast.holdfast_lock TO weak@'%'");
  const std::string url = "mysql://weak@127.0.0.1:" + std::to_string(server.port()) + "/holdfast";
  EXPECT_THAT(finding(open(url).examine().value(), "mysql-rights").what,
              HasSubstr("UPDATE on holdfast_lock"));
  server.query("SET GLOBAL read_only = 1");
  EXPECT_EQ(finding(open(server.url()).examine().value(), "mysql-read-only").severity,
            Severity::warning);
}

TEST(Examined, AStatementLogIsNamedBeforeAndAfterALockFailsOnIt) {
  MariadbServer server({.arguments = {"--log-bin", "--server-id=1", "--binlog-format=STATEMENT"}});
  for (const char* recipe : {"table", "named", "row"}) {
    const std::string url = server.url(std::string("recipe=") + recipe);
    const Examination found = open(url).examine().value();
    EXPECT_EQ(finding(found, "mysql-binlog-format").severity, Severity::warning) << recipe;
    EXPECT_THAT(try_at(url), testing::AllOf(HasSubstr("misconfigured"), HasSubstr("MIXED or ROW")));
  }
}

TEST(Examined, EtcdTellsItsVersionAndMembers) {
  EtcdServer server;
  Client client = open(server.url());
  const Examination found = client.examine().value();
  EXPECT_EQ(found.product, "etcd");
  EXPECT_THAT(found.version, testing::StartsWith("3."));
  EXPECT_EQ(finding(found, "etcd-one-member").severity, Severity::note);
  EXPECT_EQ(found.guarantees.exclusion, Exclusion::linearizable);
  EXPECT_EQ(try_at(server.url(), {.require = {.exclusion = Exclusion::linearizable}}), "granted");
}

TEST(Examined, MemcachedTellsThatACacheForgets) {
  MemcachedServer server;
  const Examination found = open(server.url()).examine().value();
  EXPECT_EQ(found.product, "memcached");
  EXPECT_EQ(finding(found, "memcached-cache").severity, Severity::note);
  EXPECT_EQ(finding(found, "memcached-evictions").severity, Severity::good);
}

TEST(Examined, ZooKeeperTellsItsVersionAndMode) {
  test::ZooKeeperServer server;
  const Examination found = open(server.url()).examine().value();
  EXPECT_EQ(found.product, "ZooKeeper");
  EXPECT_EQ(finding(found, "zookeeper-standalone").severity, Severity::note);
  EXPECT_EQ(found.guarantees.exclusion, Exclusion::linearizable);
}

TEST(Examined, ANodeOfAQuorumThatIsGoneIsNamed) {
  test::RedisMasters masters({.count = 3});
  Client client = open(masters.url());
  EXPECT_LE(client.examine().value().verdict(), Severity::note);
  masters.at(1).kill();
  const Examination found = client.examine().value();
  EXPECT_EQ(finding(found, "quorum-node-silent").severity, Severity::warning);
  EXPECT_EQ(found.guarantees.exclusion, Exclusion::bounded_by_clocks);
}

TEST(Examined, AServerThatIsNotThereIsUnreachable) {
  for (const char* url :
       {"redis://127.0.0.1:1", "etcd://127.0.0.1:1", "zookeeper://127.0.0.1:1",
        "memcached://127.0.0.1:1", "mysql://root@127.0.0.1:1/x", "postgres://x@127.0.0.1:1/x"}) {
    EXPECT_THAT(told(open(url).examine()), HasSubstr("unreachable")) << url;
  }
}

}  // namespace
}  // namespace holdfast::doctor_tests
