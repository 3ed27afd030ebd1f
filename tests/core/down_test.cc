// Down is not no: the calls that wait go on asking; the others fail at once, and so does what no patience mends.
#include "contract.h"
#include "etcd_server.h"
#include "mariadb_server.h"
#include "memcached_server.h"
#include "played_engine.h"
#include "postgres_server.h"
#include "proxy.h"
#include "redis_masters.h"
#include "redis_server.h"
#include "zookeeper_server.h"

namespace holdfast::core_tests {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using contract::arrives;
using contract::in_thread;
using contract::outcome_of;
using contract::why;

// One server, reached through a proxy that refuses connections when the test says so.
class Site {
 public:
  virtual ~Site() = default;
  virtual std::string url() const = 0;
  virtual void refuse(bool refused) = 0;
};

template <class Server>
class OneServer final : public Site {
 public:
  explicit OneServer(std::string options = "") : options_(std::move(options)) {}
  std::string url() const override {
    std::string url = server_.url();
    const std::string port = ":" + std::to_string(server_.port());
    url.replace(url.find(port), port.size(), ":" + std::to_string(proxy_.port()));
    return url + options_;
  }
  void refuse(bool refused) override {
    proxy_.refuse(refused);
    if (refused) proxy_.reset();
  }

 private:
  const std::string options_;
  Server server_;
  test::Proxy proxy_{server_.port()};
};

class ThreeMasters final : public Site {
 public:
  ThreeMasters() {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      proxies_.push_back(std::make_unique<test::Proxy>(servers_[i].port()));
    }
  }
  std::string url() const override {
    std::string hosts;
    for (const auto& proxy : proxies_) {
      hosts += (hosts.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(proxy->port()));
    }
    return "redlock://" + hosts;
  }
  void refuse(bool refused) override {
    for (const auto& proxy : proxies_) {
      proxy->refuse(refused);
      if (refused) proxy->reset();
    }
  }

 private:
  std::array<test::RedisServer, 3> servers_;
  std::vector<std::unique_ptr<test::Proxy>> proxies_;
};

struct Engine {
  std::string name;
  std::function<std::unique_ptr<Site>()> start;
};

void PrintTo(const Engine& engine, std::ostream* out) { *out << engine.name; }

template <class Server>
Engine one(const std::string& name, const std::string& options = "") {
  return {name, [options] { return std::make_unique<OneServer<Server>>(options); }};
}

class Down : public testing::TestWithParam<Engine> {
 protected:
  void SetUp() override { site_ = GetParam().start(); }
  Site& site() { return *site_; }

 private:
  std::unique_ptr<Site> site_;
};

TEST_P(Down, ACallThatWaitsOutlastsAServerThatIsNotThereYet) {
  site().refuse(true);
  Client client = Client::open(site().url()).value();
  auto patient = in_thread([&] { return client.mutex("patient", {.ttl = 10s}).acquire(); });
  auto timed = in_thread([&] { return client.mutex("timed", {.ttl = 10s}).try_acquire_for(60s); });
  std::this_thread::sleep_for(1500ms);
  EXPECT_FALSE(contract::is_ready(patient));
  EXPECT_FALSE(contract::is_ready(timed));
  site().refuse(false);
  ASSERT_TRUE(arrives(patient));
  EXPECT_EQ(why(patient.get()), "");
  ASSERT_TRUE(arrives(timed));
  EXPECT_EQ(why(timed.get()), "");
}

TEST_P(Down, WhatDoesNotWaitFailsAtOnceAndWhatWaitsFailsWhenItsTimeIsOver) {
  site().refuse(true);
  Client client = Client::open(site().url()).value();
  const BootTime begin = BootClock::now();
  EXPECT_EQ(outcome_of(client.mutex("x", {.ttl = 10s}).try_acquire()), "unreachable");
  EXPECT_EQ(outcome_of(client.ping()), "unreachable");
  EXPECT_LT(BootClock::now() - begin, 4s);  // request_timeout, 5 s, is for servers that are silent
  const BootTime patient = BootClock::now();
  const Result<Lease> timed = client.mutex("x", {.ttl = 10s}).try_acquire_for(1s);
  EXPECT_EQ(outcome_of(timed), "unreachable");
  EXPECT_GE(BootClock::now() - patient, 800ms);
  EXPECT_LT(BootClock::now() - patient, 5s);
}

TEST_P(Down, AWaitInVainIsCancelledAtOnce) {
  site().refuse(true);
  Client client = Client::open(site().url()).value();
  std::stop_source stop;
  auto waiting =
      in_thread([&] { return client.mutex("x", {.ttl = 10s}).acquire(stop.get_token()); });
  std::this_thread::sleep_for(300ms);
  const BootTime cancelled = BootClock::now();
  stop.request_stop();
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(outcome_of(waiting.get()), "cancelled");
  EXPECT_LT(BootClock::now() - cancelled, 2s);
}

INSTANTIATE_TEST_SUITE_P(
    Core, Down,
    testing::Values(one<test::RedisServer>("redis"), one<test::MemcachedServer>("memcached"),
                    one<test::ZooKeeperServer>("zookeeper"), one<test::EtcdServer>("etcd"),
                    one<test::MariadbServer>("mysql_table", "?recipe=table"),
                    one<test::MariadbServer>("mysql_named", "?recipe=named"),
                    one<test::MariadbServer>("mysql_row", "?recipe=row"),
                    one<test::PostgresServer>("postgres_table"),
                    one<test::PostgresServer>("postgres_advisory", "?recipe=advisory"),
                    one<test::PostgresServer>("postgres_row", "?recipe=row"),
                    Engine{"redlock", [] { return std::make_unique<ThreeMasters>(); }}),
    [](const testing::TestParamInfo<Engine>& engine) { return engine.param.name; });

TEST(DownForGood, AWrongPasswordFailsAtOnceInAllForms) {
  test::RedisServer redis({.password = "right"});
  test::PostgresServer postgres({.password = "right"});
  test::MariadbServer mariadb;
  mariadb.query("CREATE USER strict@'127.0.0.1' IDENTIFIED BY 'right'");
  for (const std::string& url :
       {"redis://:wrong@127.0.0.1:" + std::to_string(redis.port()),
        postgres.url("postgres", "wrong"),
        "mysql://strict:wrong@127.0.0.1:" + std::to_string(mariadb.port()) + "/holdfast"}) {
    SCOPED_TRACE(url);
    Client client = Client::open(url).value();
    auto patient = in_thread([&] { return client.mutex("x").acquire(); });
    ASSERT_TRUE(arrives(patient));
    EXPECT_EQ(outcome_of(patient.get()), "misconfigured");
    EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "misconfigured");
    EXPECT_EQ(outcome_of(client.ping()), "misconfigured");
  }
}

TEST(DownForGood, AReplicaIsNotWaitedFor) {
  test::RedisServer master;
  test::RedisServer replica(
      {.arguments = {"--replicaof", "127.0.0.1", std::to_string(master.port())}});
  Client client = Client::open(replica.url()).value();
  auto patient = in_thread([&] { return client.mutex("x").acquire(); });
  ASSERT_TRUE(arrives(patient));
  EXPECT_EQ(outcome_of(patient.get()), "misconfigured");
}

// ---- One call, however often it asks ------------------------------------------------------------------------

struct Calls final : Observer {
  void on_wait(const Claim& claim) override { add("wait", claim); }
  void on_retry(const Claim& claim, const Failure&) override { add("retry", claim); }
  void on_refused(const Claim& claim, const Failure&) override { add("refused", claim); }
  void on_granted(const Hold& hold, BootTime) override { add("granted", hold.claim); }

  void add(const std::string& what, const Claim& claim) {
    const std::lock_guard lock(mutex);
    events.push_back(what);
    calls.insert(claim.call);
  }

  std::mutex mutex;
  std::vector<std::string> events;
  std::set<ClaimId> calls;
};

TEST(OneCall, IsOneForItsObserverWhateverBecomesOfItsRequests) {
  test::RedisServer server;
  const auto observer = std::make_shared<Calls>();
  Client client =
      Client::open(server.url(), {.request_timeout = 500ms, .observer = observer}).value();
  ASSERT_EQ(why(client.ping()), "");
  server.pause();
  const Result<Lease> lease = client.mutex("x").try_acquire_for(3s);
  ASSERT_THAT(outcome_of(lease), testing::AnyOf("unknown", "unreachable"));
  server.resume();
  const std::lock_guard lock(observer->mutex);
  EXPECT_EQ(observer->events.front(), "wait");
  EXPECT_EQ(observer->events.back(), "refused");
  EXPECT_EQ(observer->calls.size(), 1U);
}

TEST(OneCall, IsGrantedOnceAlthoughItWasAskedForOften) {
  test::RedisServer server;
  const auto observer = std::make_shared<Calls>();
  Client client =
      Client::open(server.url(), {.request_timeout = 300ms, .observer = observer}).value();
  ASSERT_EQ(why(client.ping()), "");
  server.pause();
  auto waiting = in_thread([&] { return client.mutex("x", {.ttl = 5s}).acquire(); });
  ASSERT_TRUE(contract::eventually([&] {
    const std::lock_guard lock(observer->mutex);
    return observer->events.size() >= 3;
  }));
  server.resume();
  ASSERT_TRUE(arrives(waiting));
  Result<Lease> lease = waiting.get();
  ASSERT_EQ(why(lease), "");
  // Whatever was sent before the pause ended has been executed by now, and ended nobody's hold.
  std::this_thread::sleep_for(2s);
  EXPECT_TRUE(lease->held());
  const LockInfo info = client.inspect("x").value();
  ASSERT_EQ(info.holders.size(), 1U);
  EXPECT_EQ(info.holders.front().token, lease->token());
  EXPECT_EQ(info.waiters.size(), 0U);
  EXPECT_EQ(why(lease->release()), "");
  EXPECT_EQ(observer->calls.size(), 1U);
}

// ---- A handle is worth its ttl -------------------------------------------------------------------

// Grants as an engine that hands over does: short, until the first renewal.
std::shared_ptr<Script> handing_over(int failed_renewals) {
  const auto script = std::make_shared<Script>();
  script->acquire = [](const Claim&, BootTime now) { return Grant{Token(7), now, 2s}; };
  script->renew = [left = failed_renewals](const Hold& hold,
                                           BootTime now) mutable -> Result<Grant> {
    if (left-- > 0) return Failure(Code::unreachable, "played: the connection was reset");
    return Grant{hold.token, now, hold.claim.ttl};
  };
  return script;
}

Wait patience(Duration span) { return Wait{.deadline = Deadline::at(BootClock::now() + span)}; }

TEST(HandedOver, AHandleIsGivenOnlyWhenItIsWorthItsTtl) {
  const std::shared_ptr<Script> script = handing_over(3);
  Client client = open_played(script);
  EXPECT_EQ(why(client.mutex("x", {.ttl = 5min}).acquire_detached(patience(20s))), "");
  EXPECT_EQ(script->renewals, 4);
}

TEST(HandedOver, AGrantThatCannotBeRenewedIsGivenBackAndNotHandedOut) {
  const std::shared_ptr<Script> script = handing_over(1'000'000);
  Client client = open_played(script);
  EXPECT_NE(outcome_of(client.mutex("x", {.ttl = 5min}).acquire_detached(patience(3s))), "granted");
  EXPECT_TRUE(contract::eventually([&] { return script->releases >= 1; }));
}

}  // namespace
}  // namespace holdfast::core_tests
