// Locks that live in a session die with the server's life: a restart, or another server in its place.
// A holder that was cut off does not hear of it. Nobody else may hold what it still believes in.
#include "mysql_testing.h"

namespace holdfast::mysql_tests {

HOLDFAST_SESSION_TESTS(MysqlSessionLife);

namespace {

// The next one is granted, and only when `before` is over.
void expect_granted_after(const Lease& before, const std::string& url) {
  Client other = open(url);
  const Result<Lease> next = other.mutex("x", {.ttl = 1s}).try_acquire_for(30s);
  ASSERT_EQ(told(next), "granted") << "the lock is stranded";
  EXPECT_FALSE(before.held()) << "two hold it";
  EXPECT_GE(BootClock::now(), before.valid_until());
  EXPECT_GT(next->token(), before.token());
}

}  // namespace

TEST_P(MysqlSessionLife, ARestartedServerGrantsNothingThatACutOffHolderBelievesIn) {
  MariadbServer own;
  Proxy proxy(own.port());
  Client cut = open(url_through(proxy, recipe()));
  const Lease lease = cut.mutex("x", {.ttl = 6s}).acquire().value();
  proxy.cut();
  own.restart();
  Client hasty = open(url_on(own));
  const Result<Lease> at_once = hasty.mutex("x", {.ttl = 1s}).try_acquire();
  EXPECT_TRUE(!at_once || !lease.held()) << "two hold it";
  expect_granted_after(lease, url_on(own));
}

// The holder of the second life had a ttl of its own.
TEST_P(MysqlSessionLife, EachRestartCountsAnew) {
  MariadbServer own;
  Client first = open(url_on(own));
  ASSERT_EQ(told(first.mutex("x", {.ttl = 1s}).acquire()), "granted");
  own.restart();
  Proxy proxy(own.port());
  Client cut = open(url_through(proxy, recipe()));
  const Lease lease = cut.mutex("x", {.ttl = 5s}).try_acquire_for(20s).value();
  proxy.cut();
  own.restart();
  expect_granted_after(lease, url_on(own));
}

TEST_P(MysqlSessionLife, ALockOfThisLifeIsHandedOnAtOnceHoweverYoungTheServer) {
  MariadbServer own;
  Client client = open(url_on(own));
  const BootTime begun = BootClock::now();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(told(client.mutex("x", {.ttl = 10min}).try_acquire()), "granted");
  }
  own.restart();
  ASSERT_EQ(told(client.mutex("another", {.ttl = 10min}).try_acquire_for(20s)), "granted");
  EXPECT_LT(BootClock::now() - begun, 60s);
  EXPECT_EQ(outcome_of(client.mutex("x", {.ttl = 1s}).try_acquire()), "busy");
}

// It was started long ago, and its locks begin now.
TEST_P(MysqlSessionLife, APromotedReplicaGrantsNothingThatACutOffHolderBelievesIn) {
  MariadbServer leader({.arguments = {"--log-bin", "--server-id=1"}});
  MariadbServer replica({.arguments = {"--log-bin", "--server-id=2"}});
  replica.follow(leader, leader.port());
  Proxy proxy(leader.port());
  Client cut = open(url_through(proxy, recipe()));
  const Lease lease = cut.mutex("x", {.ttl = 6s}).acquire().value();
  proxy.cut();
  const std::string row =
      "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'holdfast_tokens'";
  ASSERT_TRUE(eventually([&] { return replica.value(row) == "1"; }));
  ASSERT_TRUE(eventually([&] {
    return replica.value("SELECT MAX(token) FROM holdfast.holdfast_tokens") == lease.token().str();
  }));
  leader.kill();
  replica.promote();
  expect_granted_after(lease, url_on(replica));
}

// As a failover to a replica that lags, or a backup that is restored.
TEST_P(MysqlSessionLife, TokensGoOnAboveWhatARestoredBackupForgot) {
  MariadbServer own;
  MariadbClient admin(own.port(), "holdfast");
  const auto grant = [&] {
    Client client = open(url_on(own));
    return client.mutex("x", {.ttl = 1s}).try_acquire_for(20s).value().token();
  };
  grant();
  admin.query("CREATE TABLE backup AS SELECT * FROM holdfast_tokens");
  Token last;
  for (int i = 0; i < 3; ++i) last = grant();
  admin.query("REPLACE INTO holdfast_tokens SELECT * FROM backup");
  EXPECT_GT(grant(), last) << "a token came twice, or a lower one";
}

TEST_P(MysqlSessionLife, WithoutTokensNobodyRemembersAndItSaysSo) {
  Client client = open(url("tokens=no"));
  EXPECT_EQ(client.guarantees().exclusion, Exclusion::best_effort);
  EXPECT_EQ(open(url()).guarantees().exclusion, Exclusion::bounded_by_clocks);
}

}  // namespace holdfast::mysql_tests
