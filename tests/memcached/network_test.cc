// Networks that lose, delay and mix up: see lossy_network.h.
#include "lossy_network.h"
#include "memcached_testing.h"

namespace holdfast::memcached_tests {
namespace {

class MemcachedNetwork : public testing::Test {
 protected:
  MemcachedServer server_;
  Client watcher_ = open(server_.url());
};

// ---- Replies that are lost ---------------------------------------------------------------------

TEST_F(MemcachedNetwork, ALostReplyToAcquireGivesOneHoldWithTheTokenThatEverybodySees) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy));
  expect_a_lost_reply_gives_one_hold(
      proxy, client, watcher_, [](Lease& lease) { EXPECT_EQ(told(lease.renew()), "granted"); });
}

TEST_F(MemcachedNetwork, ALostReplyToRenewAndToReleaseIsAskedForAgain) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy));
  expect_lost_replies_are_asked_for_again(proxy, client, watcher_);
}

TEST_F(MemcachedNetwork, ATokenWhoseRecordingWasLostIsRecordedByTheNextRenewal) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy));
  ASSERT_EQ(told(client.mutex("warm", kLong).try_acquire()), "granted");
  pause_for(50ms);
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  proxy.reset();  // Most likely before it was recorded; if not, this test says less.
  EXPECT_EQ(told(lease->renew()), "granted");
  EXPECT_EQ(lease->token().value(), visible_token(watcher_, "x"));
  EXPECT_EQ(told(watcher_.evict("x", lease->token())), "granted");
}

TEST_F(MemcachedNetwork, AnAcquireWhoseServerVanishesIsTakenBackWhenItIsThereAgain) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy));
  expect_an_acquire_is_taken_back(proxy, client, watcher_, [&] { return present(server_, "x"); });
}

// ---- Replies that come late --------------------------------------------------------------------

TEST_F(MemcachedNetwork, LateRepliesNeverReachAnotherCaller) {
  Proxy proxy(server_.port());
  expect_late_replies_reach_no_other_caller(
      proxy, server_.url(), url_of(proxy, "?command_timeout_ms=40&connect_timeout_ms=2000"),
      {.ttl = 3s, .recorded_later = true, .least_granted = 100});
}

TEST_F(MemcachedNetwork, ALateReplyIsSwallowedAndTheNextOneFits) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy, "?command_timeout_ms=50"));
  expect_late_replies_are_swallowed(proxy, client, watcher_);
}

// ---- Connections that are dead and do not know it ----------------------------------------------

TEST_F(MemcachedNetwork, AHalfOpenConnectionIsReplacedInTimeToKeepTheLease) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy, "?command_timeout_ms=1000"));
  expect_a_half_open_connection_costs_no_lease(proxy, client);
}

TEST_F(MemcachedNetwork, AWaiterBehindAHalfOpenConnectionGetsTheLock) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy, "?command_timeout_ms=1000"));
  Result<Lease> lease = watcher_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  const std::int64_t before = proxy.received(Direction::to_server);
  Pending waiting = in_thread([&] { return client.mutex("x", kLong).try_acquire_for(30s); });
  ASSERT_TRUE(eventually([&] { return proxy.received(Direction::to_server) > before + 500; }));
  proxy.cut();
  ASSERT_EQ(told(lease->release()), "granted");
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(told(waiting.get()), "granted");
}

// ---- Bytes that no memcached would say ---------------------------------------------------------

TEST_F(MemcachedNetwork, GarbageIsGotOver) {
  using namespace std::string_literals;  // NOLINT(google-build-using-namespace): test code
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy, "?command_timeout_ms=500"));
  for (const std::string& garbage :
       {"HTTP/1.1 400 Bad Request\r\n\r\n"s, "HD c1\r\n"s, "VA 5 c1\r\nabc"s, "VA x\r\n"s,
        "VA 3 t-1 c1\r\nabcdef\r\n"s, "EN\r\n"s, "\r\n"s, std::string(5000, 'x'),
        std::string(100, '\0'), "SERVER_ERROR out of memory\r\n"s, "VA 99999999999 c1\r\n"s}) {
    SCOPED_TRACE(garbage.substr(0, 30));
    ASSERT_EQ(told(client.mutex("warm", kLong).try_acquire_for(8s)), "granted");
    proxy.inject(garbage);
    pause_for(20ms);
    // The first call may find the connection dead; nothing may be wrong.
    static_cast<void>(client.mutex("first", kLong).try_acquire());
    for (int i = 0; i < 3; ++i) {
      Result<Lease> lease = client.mutex("x", kLong).try_acquire_for(8s);
      ASSERT_EQ(told(lease), "granted");
      EXPECT_EQ(lease->token().value(), visible_token(watcher_, "x"));
      EXPECT_EQ(told(lease->renew()), "granted");
      EXPECT_EQ(told(lease->release()), "granted");
      EXPECT_EQ(visible_token(watcher_, "x"), 0U);
    }
    expect_free_soon(watcher_, "first", 5s);
  }
}

// ---- Many reconnections ------------------------------------------------------------------------

TEST_F(MemcachedNetwork, HundredsOfReconnectionsLoseAndLeakNothing) {
  Proxy proxy(server_.port());
  Client client = open(url_of(proxy));
  expect_reconnections_lose_and_leak_nothing(proxy, client, 500);
}

}  // namespace
}  // namespace holdfast::memcached_tests
