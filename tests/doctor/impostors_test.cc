// Products that speak a protocol and do not keep the promise: refused when they are connected to.
#include <atomic>
#include <thread>

#include "doctor_testing.h"
#include "galera_nodes.h"
#include "mariadb_server.h"
#include "pgbouncer.h"
#include "postgres_server.h"
#include "redis_server.h"

namespace holdfast::doctor_tests {
namespace {

using test::GaleraNodes;
using test::MariadbClient;
using test::PgBouncer;
using test::PostgresServer;
using test::RedisServer;

// ---- Galera ------------------------------------------------------------------------------------

class Galera : public testing::Test {
 protected:
  static GaleraNodes& nodes() {
    static GaleraNodes shared;
    return shared;
  }
};

// Why: what the recipes ask for is granted by both nodes at the same time.
TEST_F(Galera, GrantsANamedLockAndALockedRowOnceOnEachNode) {
  MariadbClient first(nodes().port(0), "holdfast");
  MariadbClient second(nodes().port(1), "holdfast");
  EXPECT_EQ(first.value("SELECT GET_LOCK('x', 0)"), "1");
  EXPECT_EQ(second.value("SELECT GET_LOCK('x', 0)"), "1") << "one holder would be right";
  first.query("CREATE TABLE held (id INT PRIMARY KEY)");
  first.query("INSERT INTO held VALUES (1)");
  second.query("SET SESSION wsrep_sync_wait = 7, innodb_lock_wait_timeout = 1");
  first.query("BEGIN");
  second.query("BEGIN");
  EXPECT_EQ(first.value("SELECT id FROM held WHERE id = 1 FOR UPDATE"), "1");
  EXPECT_EQ(second.value("SELECT id FROM held WHERE id = 1 FOR UPDATE"), "1")
      << "one holder would be right";
  first.query("ROLLBACK");
  second.query("ROLLBACK");
}

TEST_F(Galera, IsRefusedByTheRecipesThatItBreaks) {
  for (const char* recipe : {"named", "row"}) {
    const std::string answer = try_at(nodes().url(0, recipe));
    EXPECT_THAT(answer, HasSubstr("misconfigured"));
    EXPECT_THAT(answer, HasSubstr("Galera"));
    EXPECT_THAT(answer, HasSubstr("recipe=table")) << "what to use instead";
    const Examination found = open(nodes().url(0, recipe)).examine().value();
    EXPECT_EQ(found.product, "MariaDB with Galera");
    EXPECT_EQ(found.verdict(), Severity::unfit);
  }
}

// With clocks that agree, as on one machine: a row that two nodes changed is certified for one of them.
TEST_F(Galera, CertifiesTheRowsOfALockTableForOneNodeAtATime) {
  std::atomic<int> inside{0};
  std::atomic<int> together{0};
  std::atomic<int> granted{0};
  const auto contend = [&](std::size_t node) {
    Client client = open(nodes().url(node, "table"));
    Mutex mutex = client.mutex("contended");
    for (int i = 0; i < 40; ++i) {
      const Result<Lease> lease = mutex.try_acquire_for(10s);
      if (!lease) continue;
      if (++inside > 1) ++together;
      std::this_thread::sleep_for(1ms);
      --inside;
      ++granted;
    }
  };
  std::thread first(contend, 0);
  std::thread second(contend, 1);
  first.join();
  second.join();
  EXPECT_EQ(together, 0);
  EXPECT_GT(granted, 40) << "both should come through";
}

TEST_F(Galera, LowersWhatALockTableCanGive) {
  Client client = open(nodes().url(0, "table"));
  EXPECT_EQ(client.examine().value().verdict(), Severity::warning);
  EXPECT_EQ(client.guarantees().exclusion, Exclusion::best_effort);
  const LockOptions demanding{.require = {.exclusion = Exclusion::bounded_by_clocks}};
  EXPECT_THROW(client.mutex("x", demanding), LockError);
}

TEST(MariaDb, WithoutGaleraIsAccepted) {
  test::MariadbServer server({.arguments = {"--innodb-flush-log-at-trx-commit=1"}});
  for (const char* recipe : {"named", "row", "table"}) {
    const std::string url = server.url(std::string("recipe=") + recipe);
    EXPECT_EQ(try_at(url), "granted") << recipe;
    const Examination found = open(url).examine().value();
    EXPECT_THAT(found.product, testing::AnyOf("MariaDB", "MySQL"));
    EXPECT_LE(found.verdict(), Severity::note) << recipe;
    EXPECT_EQ(found.guarantees.exclusion, Exclusion::bounded_by_clocks);
    EXPECT_EQ(found.guarantees.token, TokenStrength::durable_one_node);
  }
}

// ---- PostgreSQL by name ------------------------------------------------------------------------

// A server whose version() says this: a function in a schema that is searched before the catalog.
class Disguised {
 public:
  explicit Disguised(const std::string& version) {
    server_.query("CREATE SCHEMA disguise");
    server_.query("CREATE FUNCTION disguise.version() RETURNS text LANGUAGE sql AS $$ SELECT '" +
                  version + "'::text $$");
    server_.query("ALTER DATABASE postgres SET search_path = disguise, pg_catalog, public");
  }
  std::string url(const std::string& recipe) const { return server_.url() + "?recipe=" + recipe; }

 private:
  PostgresServer server_;
};

TEST(CockroachDb, IsRefusedByEveryRecipe) {
  const Disguised server("CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27)");
  for (const char* recipe : {"advisory", "row", "table"}) {
    const std::string answer = try_at(server.url(recipe));
    EXPECT_THAT(answer, HasSubstr("misconfigured: PostgreSQL at 127.0.0.1:")) << recipe;
    EXPECT_THAT(answer, HasSubstr("CockroachDB"));
    EXPECT_THAT(answer, HasSubstr("use a PostgreSQL server")) << "what to use instead";
    const Examination found = open(server.url(recipe)).examine().value();
    EXPECT_EQ(found.product, "CockroachDB");
    EXPECT_EQ(found.version, "23.1.11");
    EXPECT_EQ(found.verdict(), Severity::unfit);
  }
}

TEST(YugabyteDb, IsRefusedWhereItsVersionLacksWhatTheRecipeNeeds) {
  const Disguised old("PostgreSQL 11.2-YB-2.20.3.1-b0 on x86_64-pc-linux-gnu");
  EXPECT_THAT(try_at(old.url("advisory")), HasSubstr("2025.1"));
  EXPECT_THAT(try_at(old.url("table")), HasSubstr("2025.2.3"));
  EXPECT_EQ(open(old.url("advisory")).examine().value().version, "2.20.3.1");
  const Disguised fresh("PostgreSQL 15.12-YB-2025.1.1.2-b3 on x86_64-pc-linux-gnu");
  EXPECT_EQ(try_at(fresh.url("advisory")), "granted");
  EXPECT_THAT(try_at(fresh.url("table")), HasSubstr("2025.2.3"));
  EXPECT_THAT(
      try_at(fresh.url("advisory"), {.require = {.exclusion = Exclusion::bounded_by_clocks}}),
      HasSubstr("nobody has tested"));
}

// ---- PgBouncer ---------------------------------------------------------------------------------

TEST(PgBouncer, InTransactionModeIsRefusedAndSaysWhatToDo) {
  const PostgresServer server;
  const PgBouncer pool(server, "transaction");
  for (const char* recipe : {"advisory", "row", "table"}) {
    EXPECT_THAT(try_at(pool.url(recipe)), HasSubstr("misconfigured")) << recipe;
    const Examination found = open(pool.url(recipe)).examine().value();
    EXPECT_EQ(found.verdict(), Severity::unfit) << recipe;
    EXPECT_THAT(finding(found, "postgres-transaction-pool").mend, HasSubstr("pooled=yes"));
  }
}

TEST(PgBouncer, InSessionModeIsToldFromTransactionMode) {
  const PostgresServer server;
  const PgBouncer pool(server, "session");
  const Examination found = open(pool.url("advisory")).examine().value();
  EXPECT_EQ(finding(found, "postgres-transaction-pool").id, "");
  EXPECT_EQ(finding(found, "postgres-proxy").severity, Severity::note);
}

// ---- Redis without its commands ----------------------------------------------------------------

TEST(RedisProxy, WithoutScriptsOrChannelsIsRefused) {
  for (const char* command : {"EVAL", "PUBSUB"}) {
    RedisServer server({.arguments = {"--rename-command", command, ""}});
    const std::string answer = try_at(server.url());
    EXPECT_THAT(answer, HasSubstr("misconfigured")) << command;
    EXPECT_THAT(answer, HasSubstr("connect to the Redis server itself"));
    EXPECT_EQ(open(server.url()).examine().value().verdict(), Severity::unfit);
  }
}

}  // namespace
}  // namespace holdfast::doctor_tests
