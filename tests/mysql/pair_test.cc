// Locks on several MariaDB servers of which one can be written: it is found, followed, and never mistaken.
#include <algorithm>

#include "database_faults.h"
#include "mysql_testing.h"

namespace holdfast::mysql_tests {
namespace {

using test::ProxyMode;

test::MariadbOptions numbered(int id) {
  return {.arguments = {"--log-bin", "--binlog-format=ROW", "--server-id=" + std::to_string(id)}};
}

// A primary, and a replica that can only be read.
class Pair {
 public:
  Pair() : primary(numbered(1)), replica(numbered(2)) {
    for (const auto* server : {&primary, &replica}) {
      server->query("CREATE USER app IDENTIFIED BY 'PASSWORD'");
      server->query("GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON holdfast.* TO app");
    }
    replica.follow(primary, primary.port());
    replica.query("SET GLOBAL read_only = 1");
  }

  // Waits until the replica has all that the primary has committed.
  void catch_up() const {
    const bool mysql = primary.product().is("mysql");
    const auto end = primary.query(mysql ? "SHOW BINARY LOG STATUS" : "SHOW MASTER STATUS").at(0);
    const std::string waited =
        replica.value(std::string("SELECT ") + (mysql ? "SOURCE" : "MASTER") + "_POS_WAIT('" +
                      end.at(0) + "', " + end.at(1) + ", 20) >= 0");
    ASSERT_EQ(waited, "1");
  }
  void promote() const {
    replica.promote();
    replica.query("SET GLOBAL read_only = 0");
  }

  MariadbServer primary;
  MariadbServer replica;
};

std::string url_of(const std::string& user, std::vector<int> ports, const std::string& options) {
  std::string hosts;
  for (const int port : ports) {
    hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
  }
  return "mysql://" + user + "@" + hosts + "/holdfast?" + options;
}

// Of clients of locks.
long connections_to(const MariadbServer& server) {
  const MariadbClient::Rows all = server.query("SHOW PROCESSLIST");
  return std::count_if(all.begin(), all.end(),
                       [](const auto& row) { return row.at(3) == "holdfast"; });
}

constexpr const char* kUser = "app:PASSWORD";
constexpr const char* kRoot = "root";

class MysqlPair : public testing::TestWithParam<std::string> {
 protected:
  std::string url(const Pair& pair, const std::string& user = kUser) const {
    return url_of(user, {pair.primary.port(), pair.replica.port()}, "recipe=" + GetParam());
  }
  bool is_table() const { return GetParam() == "table"; }
};

INSTANTIATE_TEST_SUITE_P(All, MysqlPair, testing::Values("table", "named", "row"),
                         [](const auto& recipe) { return recipe.param; });

TEST_P(MysqlPair, ThePrimaryIsFoundWhateverTheOrderOfTheHosts) {
  Pair pair;
  for (const auto& ports : {std::vector{pair.primary.port(), pair.replica.port()},
                            std::vector{pair.replica.port(), pair.primary.port()}}) {
    Client client = open(url_of(kRoot, ports, "recipe=" + GetParam()));
    EXPECT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
    EXPECT_EQ(client.guarantees().exclusion, Exclusion::best_effort);
  }
}

TEST_P(MysqlPair, WithoutAPrimaryNothingIsGrantedAndTheReasonIsGiven) {
  Pair pair;
  pair.primary.kill();
  // Root could write to it.
  Client client = open(url(pair, kRoot));
  const Result<Lease> none = client.mutex("x", kLong).try_acquire();
  EXPECT_THAT(told(none), testing::StartsWith("unreachable"));
  EXPECT_THAT(none.message(),
              HasSubstr(std::to_string(pair.replica.port()) + ": it can only be read"));
}

TEST_P(MysqlPair, AReplicaThatCouldBeWrittenIsNoPrimary) {
  Pair pair;
  pair.replica.query("SET GLOBAL read_only = 0");
  {
    // (MySQL tells only a user with rights that it replicates. To others both look like primaries.)
    Client client = open(url(pair, kRoot));
    EXPECT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
    EXPECT_NE(pair.primary.value("SHOW TABLES IN holdfast"), "");
  }
  pair.primary.kill();
  Client client = open(url(pair, kRoot));
  EXPECT_THAT(told(client.mutex("x", kLong).try_acquire()), testing::StartsWith("unreachable"));
}

TEST_P(MysqlPair, TwoPrimariesAreRefusedAndTheOneInUseIsKept) {
  Pair pair;
  Client client = open(url(pair));
  const Lease lease = client.mutex("x", kLong).try_acquire().value();
  pair.promote();
  Client late = open(url(pair));
  const Result<Lease> refused = late.mutex("y", kLong).try_acquire();
  EXPECT_THAT(told(refused), testing::StartsWith("unreachable"));
  EXPECT_THAT(refused.message(), HasSubstr("nothing tells which is the primary"));
  pause_for(7s);
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(told(client.mutex("y", kLong).try_acquire()), "granted");
}

// A planned switch-over: the sessions of the old primary live on. As a user who may write to it all the same, too.
TEST_P(MysqlPair, APrimaryThatBecomesReadOnlyIsLeftForTheNewOne) {
  for (const char* user : {kUser, kRoot}) {
    Pair pair;
    Client client = open(url(pair, user));
    Lease lease = client.mutex("x", {.ttl = 3s}).acquire().value();
    const Token token = lease.token();
    pair.primary.query("SET GLOBAL read_only = 1");
    pair.catch_up();
    pair.promote();
    EXPECT_EQ(told(client.mutex("y", kLong).try_acquire()), "granted");
    if (is_table()) {
      pause_for(4s);
      EXPECT_TRUE(lease.held()) << "the row was replicated, so the lease goes on";
      EXPECT_EQ(told(lease.release()), "granted");
    } else {
      EXPECT_TRUE(eventually([&] { return !lease.held(); })) << "its session has ended";
    }
    const Result<Lease> next = client.mutex("x", {.ttl = 3s}).try_acquire_for(20s);
    ASSERT_EQ(told(next), "granted");
    EXPECT_GT(next->token(), token);
    EXPECT_EQ(connections_to(pair.primary), 0) << "no connection to the old one is left";
  }
}

// Reads go on at a server that became read-only: a renewal that only reads must not keep the lock there.
TEST_P(MysqlPair, ARenewalAtAServerThatBecameReadOnlyIsNone) {
  Pair pair;
  Client client = open(url(pair, kRoot));
  const Lease lease = client.mutex("x", {.ttl = 3s}).acquire().value();
  pair.primary.query("SET GLOBAL read_only = 1");
  // Earlier than the group would look for itself.
  EXPECT_TRUE(eventually([&] { return !lease.held(); }, is_table() ? 4s : 2500ms))
      << "nobody confirms it";
}

TEST_P(MysqlPair, AWaiterIsServedByTheReplicaThatTookOver) {
  Pair pair;
  expect_a_waiter_is_served_by_the_successor(url(pair), is_table(), [&] {
    pair.catch_up();
    pair.primary.kill();
    pair.promote();
  });
}

TEST_P(MysqlPair, ASilentServerCostsLittle) {
  Pair pair;
  Proxy silent(pair.replica.port());
  silent.set_both(ProxyMode::hold);
  const BootTime begun = BootClock::now();
  Client client = open(url_of(kUser, {silent.port(), pair.primary.port()}, "recipe=" + GetParam()));
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  EXPECT_LT(BootClock::now() - begun, 3s) << "the request timeout is 5 s";
}

}  // namespace
}  // namespace holdfast::mysql_tests
