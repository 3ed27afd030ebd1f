// Locks that live in a session: how they end when it does, and what keeps it from ending.
#include "database_faults.h"
#include "mysql_testing.h"

namespace holdfast::mysql_tests {

HOLDFAST_SESSION_TESTS(MysqlSession);

// Scenario 18: the server kills the holder's connection.
TEST_P(MysqlSession, AKilledConnectionIsLostAtOnce) {
  Client client = open(url());
  Lease lease = client.mutex("killed", {.ttl = 10min}).acquire().value();
  const std::string session = session_of("killed");
  ASSERT_NE(session, "");
  server().query("KILL " + session);
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); })) << "nobody told";
  EXPECT_FALSE(lease.held());
  const Token before = lease.token();
  EXPECT_EQ(outcome_of(lease.release()), "not_held");
  const Result<Lease> next = client.mutex("killed").try_acquire_for(10s);
  ASSERT_EQ(told(next), "granted");
  EXPECT_GT(next->token(), before);
}

TEST_P(MysqlSession, ARestartOfTheServerIsALossAndTokensGoOn) {
  MariadbServer own;
  Client client = open(url_on(own));
  Token last;
  {
    const Lease lease = client.mutex("x", {.ttl = 2s}).acquire().value();
    last = lease.token();
    own.restart();
    EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); })) << "nobody told";
  }
  const Result<Lease> next = client.mutex("x").try_acquire_for(20s);
  ASSERT_EQ(told(next), "granted");
  EXPECT_GT(next->token(), last) << "a token came twice";
}

TEST_P(MysqlSession, AWaiterOutlastsARestartOfTheServer) {
  MariadbServer own;
  Client one = open(url_on(own));
  Client two = open(url_on(own));
  Lease lease = one.mutex("x", {.ttl = 2s}).acquire().value();
  Mutex mutex = two.mutex("x", kLong);
  Pending waiting = in_thread([&] { return mutex.try_acquire_for(30s); });
  ASSERT_TRUE(eventually([&] { return one.inspect("x").value().waiters.size() == 1; }));
  own.restart();
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(told(waiting.get()), "granted");
}

TEST_P(MysqlSession, AForkedHelperDoesNotKeepTheLockOfItsDeadParent) {
  expect_a_forked_helper_keeps_no_lock(url());
}

TEST_P(MysqlSession, ACancelledWaitLeavesNoSessionInTheServer) {
  Client client = open(url());
  Mutex mutex = client.mutex("cancelled", kLong);
  const Lease lease = mutex.acquire().value();
  std::stop_source stop;
  Pending waiting = in_thread([&] { return mutex.acquire(stop.get_token()); });
  ASSERT_TRUE(eventually([&] { return waiting_sessions() == "1"; }));
  stop.request_stop();
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(outcome_of(waiting.get()), "cancelled");
  EXPECT_EQ(waiting_sessions(), "0");
}

// The network is cut: neither side hears of the other's end.
TEST_P(MysqlSession, AHolderThatIsCutOffLosesTheLockOnBothSidesByItsTtl) {
  Proxy proxy(server().port());
  const std::string through =
      "mysql://root@127.0.0.1:" + std::to_string(proxy.port()) + "/holdfast?recipe=" + recipe();
  Client cut = open(through);
  Client other = open(url());
  const Lease lease = cut.mutex("cut off", {.ttl = 2s}).acquire().value();
  proxy.cut();
  const Result<Lease> next = other.mutex("cut off").try_acquire_for(20s);
  ASSERT_EQ(told(next), "granted") << "a holder that nobody hears keeps the lock";
  EXPECT_FALSE(lease.held()) << "two hold it";
  EXPECT_GE(BootClock::now(), lease.valid_until());
}

TEST_P(MysqlSession, AServerThatIsPausedIsNotBelievedBeyondTheTtl) {
  MariadbServer own;
  Client client = open(url_on(own), {.request_timeout = 500ms});
  const Lease lease = client.mutex("x", {.ttl = 2s}).acquire().value();
  own.pause();
  const bool lost = eventually([&] { return !lease.held(); }, 10s);
  own.resume();
  EXPECT_TRUE(lost);
}

TEST_P(MysqlSession, ASlowServerThatAnswersWithinTheTtlLosesNobodyHisLock) {
  MariadbServer own;
  Client client = open(url_on(own));
  const Lease lease = client.mutex("x", {.ttl = 6s}).acquire().value();
  own.pause();
  pause_for(3s);  // Longer than one renewal may take, shorter than the ttl.
  own.resume();
  pause_for(4s);
  EXPECT_TRUE(lease.held()) << "a late answer cost the lock";
}

TEST_P(MysqlSession, ALockCannotOutliveItsProcessAndSaysWhatCan) {
  Client client = open(url());
  Lease lease = client.mutex("no handle", kLong).acquire().value();
  const Result<Handle> handle = lease.detach();
  ASSERT_FALSE(handle);
  EXPECT_EQ(handle.code(), Code::unsupported);
  EXPECT_THAT(handle.message(), HasSubstr("recipe=table"));
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(outcome_of(client.mutex("no handle 2", kLong).acquire_detached({})), "unsupported");
}

// 200 waiters on one name: nobody asks again and again.
TEST_P(MysqlSession, IdleWaitersSendNothing) {
  Client client = open(url());
  Mutex mutex = client.mutex("crowd", {.ttl = 10min});
  Lease lease = mutex.acquire().value();
  std::stop_source stop;
  std::vector<Pending> line;
  for (int i = 0; i < 60; ++i) {
    line.push_back(in_thread([&] { return mutex.acquire(stop.get_token()); }));
  }
  ASSERT_TRUE(eventually([&] { return waiting_sessions() == "60"; }));
  MariadbClient asks(server().port());
  const auto questions = [&] {
    return std::stoll(asks.query("SHOW GLOBAL STATUS LIKE 'Questions'").at(0).at(1));
  };
  const long long before = questions();
  pause_for(1500ms);
  EXPECT_LE(questions() - before, 5) << "somebody polls";
  stop.request_stop();
  for (Pending& waiting : line) EXPECT_EQ(outcome_of(waiting.get()), "cancelled");
  EXPECT_EQ(waiting_sessions(), "0");
}

}  // namespace holdfast::mysql_tests
