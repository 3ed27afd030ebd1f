// Grants of one life of the server, seen from the next: a replica that takes over, and clocks that are not
// the same across a restart.
#include "mysql_testing.h"

namespace holdfast::mysql_tests {

HOLDFAST_SESSION_TESTS(MysqlSuccession);

namespace {

// A leader, a replica that has seen what was granted last, and what that needs.
struct Pair {
  Pair() { replica.follow(leader, leader.port()); }
  // The leader is gone, and the replica in its place.
  void fail_over(const Lease& last) {
    const std::string table =
        "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'holdfast_tokens'";
    ASSERT_TRUE(eventually([&] { return replica.value(table) == "1"; }));
    ASSERT_TRUE(eventually([&] {
      return replica.value("SELECT MAX(token) FROM holdfast.holdfast_tokens") == last.token().str();
    }));
    leader.kill();
    replica.promote();
  }
  MariadbServer leader{{.arguments = {"--log-bin", "--server-id=1"}}};
  MariadbServer replica{{.arguments = {"--log-bin", "--server-id=2"}}};
};

}  // namespace

// It has known the replica for long, but what it was granted is another matter.
TEST_P(MysqlSuccession, WhoLookedAtTheReplicaBeforeIsNotGrantedEarlier) {
  Pair pair;
  Proxy proxy(pair.leader.port());
  Client cut = open(url_through(proxy, recipe()));
  const Lease lease = cut.mutex("x", {.ttl = 4s}).acquire().value();
  Client looking = open(url_on(pair.replica));
  ASSERT_EQ(told(looking.inspect("x")), "granted");
  pause_for(5s);  // renewed meanwhile
  ASSERT_TRUE(lease.held());
  proxy.cut();
  pair.fail_over(lease);
  const Result<Lease> next = looking.mutex("x", {.ttl = 1s}).try_acquire_for(20s);
  ASSERT_EQ(told(next), "granted") << "the lock is stranded";
  EXPECT_FALSE(lease.held()) << "two hold it";
}

// As a job that is started now and then, and does not wait.
TEST_P(MysqlSuccession, WhoDoesNotWaitIsGrantedOnceItIsOver) {
  Pair pair;
  Client client = open(url_on(pair.leader));
  const Lease lease = client.mutex("x", {.ttl = 3s}).acquire().value();
  pair.fail_over(lease);
  EXPECT_TRUE(eventually([&] {
    Client job = open(url_on(pair.replica));
    return outcome_of(job.mutex("x", {.ttl = 3s}).try_acquire()) == "granted";
  })) << "the lock is stranded";
  EXPECT_FALSE(lease.held()) << "two hold it";
}

// When it is as late as it was, grants of the life before look like grants of this one.
TEST_P(MysqlSuccession, AClockThatWasSetBackALittleDoesNotHideARestart) {
  MariadbServer own({.movable_clock = true});
  Proxy proxy(own.port());
  Client cut = open(url_through(proxy, recipe()));
  const Lease lease = cut.mutex("x", {.ttl = 10s}).acquire().value();
  proxy.cut();
  own.kill();
  own.clock().jump(-3s);
  own.restart();
  Client other = open(url_on(own));
  EXPECT_TRUE(eventually([&] {
    return outcome_of(other.mutex("x", {.ttl = 1s}).try_acquire()) == "granted";
  })) << "the lock is stranded";
  EXPECT_FALSE(lease.held()) << "two hold it";
}

}  // namespace holdfast::mysql_tests
