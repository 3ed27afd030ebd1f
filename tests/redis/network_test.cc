// Networks that lose, delay and mix up: see lossy_network.h.
#include "lossy_network.h"
#include "redis_testing.h"

namespace holdfast::redis_tests {
namespace {

class RedisNetwork : public testing::Test {
 protected:
  RedisServer server_;
  Client watcher_ = open(server_.url());
};

// ---- Replies that are lost ---------------------------------------------------------------------

TEST_F(RedisNetwork, ALostReplyToAcquireGivesTheSameTokenAndOneHold) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy));
  expect_a_lost_reply_gives_one_hold(proxy, client, watcher_, [&](const Lease& lease) {
    EXPECT_EQ(watcher_.inspect("x")->last_token, lease.token()) << "it was granted twice";
  });
}

TEST_F(RedisNetwork, ALostReplyToRenewAndToReleaseIsAskedForAgain) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy));
  expect_lost_replies_are_asked_for_again(proxy, client, watcher_);
}

TEST_F(RedisNetwork, AnAcquireWhoseServerVanishesIsTakenBackWhenItIsThereAgain) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy));
  expect_an_acquire_is_taken_back(proxy, client, watcher_,
                                  [&] { return server_.command({"EXISTS", "x"}) == "1"; });
}

// ---- Replies that come late --------------------------------------------------------------------

TEST_F(RedisNetwork, LateRepliesNeverReachAnotherCaller) {
  Proxy proxy(server_.port());
  expect_late_replies_reach_no_other_caller(
      proxy, server_.url(), url_of(proxy, "?command_timeout_ms=40&connect_timeout_ms=2000"),
      {.ttl = 2s, .recorded_later = false, .least_granted = 300});
}

TEST_F(RedisNetwork, ALateReplyIsSwallowedAndTheNextOneFits) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy, "?command_timeout_ms=50"));
  expect_late_replies_are_swallowed(proxy, client, watcher_);
}

// ---- Connections that are dead and do not know it ----------------------------------------------

TEST_F(RedisNetwork, AHalfOpenConnectionIsReplacedInTimeToKeepTheLease) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy, "?command_timeout_ms=1000"));
  expect_a_half_open_connection_costs_no_lease(proxy, client);
}

TEST_F(RedisNetwork, AHalfOpenConnectionIsReplacedWhenItDoesNotAnswer) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy, "?command_timeout_ms=500"));
  ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  proxy.cut();
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire_for(5s)), "granted");
}

TEST_F(RedisNetwork, AWaiterBehindAHalfOpenConnectionGetsTheLock) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy, "?command_timeout_ms=1000"));
  for (const bool released_before_it_notices : {false, true}) {
    Result<Lease> lease = watcher_.mutex("x", kLong).try_acquire_for(5s);
    ASSERT_EQ(told(lease), "granted");
    Pending waiting = in_thread([&] { return client.mutex("x", kLong).try_acquire_for(30s); });
    ASSERT_TRUE(eventually([&] { return waiters(watcher_, "x") == 1; }));
    proxy.cut();
    const std::int64_t before = proxy.accepted();
    const BootTime cut = BootClock::now();
    if (released_before_it_notices) static_cast<void>(lease->release());
    ASSERT_TRUE(eventually([&] { return proxy.accepted() > before; }));
    EXPECT_LT(since(cut), 5s) << "the subscription was noticed dead too late";
    if (!released_before_it_notices) static_cast<void>(lease->release());
    Result<Lease> got = waiting.get();
    ASSERT_EQ(told(got), "granted");
    EXPECT_LT(since(cut), 12s);
    // Its request may go down the dead connection; then it is repeated in the background.
    static_cast<void>(got->release());
  }
}

// ---- Many reconnections ------------------------------------------------------------------------

TEST_F(RedisNetwork, AThousandReconnectionsLoseAndLeakNothing) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy));
  expect_reconnections_lose_and_leak_nothing(proxy, client, 1000);
}

}  // namespace
}  // namespace holdfast::redis_tests
