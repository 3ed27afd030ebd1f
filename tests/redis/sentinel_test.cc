// Masters that change. What a failover may lose it loses (docs/engines/redis.md); but every call
// ends, nobody is stranded, and tokens go on growing.
#include <map>
#include <mutex>

#include "redis_replication.h"
#include "redis_testing.h"

namespace holdfast::redis_tests {
namespace {

using test::RedisWithSentinels;

// Threads that take and give back locks until they are told to stop. Each call must end.
class Contention {
 public:
  explicit Contention(const std::string& url) : client_(open(url)) {
    for (int t = 0; t < 4; ++t) {
      threads_.emplace_back([this, t] {
        const std::string name = t % 2 == 0 ? "even" : "odd";
        while (!done_) {
          Result<Lease> lease = client_.mutex(name, {.ttl = 1s}).try_acquire_for(3s);
          if (lease) {
            ++granted_;
            remember(name, lease->token());
            static_cast<void>(lease->release());
          } else {
            ++failed_;
          }
        }
      });
    }
  }
  ~Contention() { stop(); }

  void stop() {
    done_ = true;
    threads_.clear();
  }
  int granted() const { return granted_; }
  // The highest that anybody had of `name`.
  Token highest(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return highest_[name];
  }
  Client& client() { return client_; }

 private:
  void remember(const std::string& name, Token token) {
    const std::lock_guard lock(mutex_);
    highest_[name] = std::max(highest_[name], token);
  }

  Client client_;
  std::atomic<bool> done_ = false;
  std::atomic<int> granted_ = 0;
  std::atomic<int> failed_ = 0;
  std::mutex mutex_;
  std::map<std::string, Token> highest_;
  std::vector<std::jthread> threads_;
};

void expect_to_go_on(Contention& contention) {
  const int before = contention.granted();
  EXPECT_TRUE(eventually([&] { return contention.granted() > before + 50; }));
  contention.stop();
  for (const std::string name : {"even", "odd"}) {
    const Token highest = contention.highest(name);
    Result<Lease> lease = contention.client().mutex(name, kLong).try_acquire_for(5s);
    ASSERT_EQ(told(lease), "granted");
    EXPECT_GT(lease->token(), highest);
  }
}

TEST(RedisSentinel, ContentionGoesOnThroughFailoversAndTheDeathOfAMaster) {
  RedisWithSentinels servers;
  {
    Contention contention(servers.url());
    ASSERT_TRUE(eventually([&] { return contention.granted() > 50; }));
    servers.failover();
    expect_to_go_on(contention);
  }
  servers.wait_until_ready();
  Contention contention(servers.url());
  ASSERT_TRUE(eventually([&] { return contention.granted() > 50; }));
  const int former = servers.kill_master();
  servers.wait_for_another_master(former);
  expect_to_go_on(contention);
}

TEST(RedisSentinel, WaitersAndHoldersOutliveAFailover) {
  RedisWithSentinels servers;
  Client holder = open(servers.url() + "?wait_replicas=1");
  Client client = open(servers.url());
  Result<Lease> lease = holder.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  Pending waiting = in_thread([&] { return client.mutex("x", kLong).try_acquire_for(30s); });
  ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == 1; }));
  servers.failover();
  servers.wait_until_ready();
  // The replica had it.
  EXPECT_EQ(told(lease->renew()), "granted");
  EXPECT_FALSE(contract::is_ready(waiting));
  const Token before = lease->token();
  const BootTime released = BootClock::now();
  ASSERT_EQ(told(lease->release()), "granted");
  Result<Lease> got = waiting.get();
  ASSERT_EQ(told(got), "granted");
  EXPECT_LT(since(released), 6s);
  EXPECT_GT(got->token(), before);
  EXPECT_EQ(told(got->release()), "granted");
}

TEST(RedisSentinel, ReplicasThatMustConfirmDoSoOrTheLockIsRefusedAndGone) {
  RedisWithSentinels servers;
  Client client = open(servers.url() + "?wait_replicas=1&command_timeout_ms=1000");
  Client plain = open(servers.url());
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  EXPECT_EQ(told(lease->renew()), "granted");
  // A pushed grant is confirmed as well.
  Pending waiting = in_thread([&] { return client.mutex("x", kLong).try_acquire_for(10s); });
  ASSERT_TRUE(eventually([&] { return waiters(plain, "x") == 1; }));
  ASSERT_EQ(told(lease->release()), "granted");
  Result<Lease> pushed = waiting.get();
  ASSERT_EQ(told(pushed), "granted");
  ASSERT_EQ(told(pushed->release()), "granted");

  const int master = servers.master();
  servers.server(1 - master).pause();
  for (const std::string name : {"x", "y"}) {
    const Result<Lease> refused = client.mutex(name, kLong).try_acquire();
    EXPECT_EQ(outcome_of(refused), "unreachable");
    EXPECT_THAT(told(refused), HasSubstr("only 0 of 1 replicas (wait_replicas) confirmed it"));
    EXPECT_EQ(servers.server(master).command({"EXISTS", name}), "0");
  }
  servers.server(1 - master).resume();
  EXPECT_TRUE(eventually([&] { return client.mutex("x", kLong).try_acquire().ok(); }));
}

// An unconfirmed grant is given back, and asked for again as long as the caller waits.
TEST(RedisSentinel, WaitersStayPatientWhileReplicasDoNotConfirm) {
  constexpr int kWaiters = 8;
  RedisWithSentinels servers({.replicas = 1});
  Client client = open(servers.url() + "?wait_replicas=1&command_timeout_ms=1000");
  Client plain = open(servers.url());
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  std::vector<std::future<std::string>> pending;
  for (int i = 0; i < kWaiters; ++i) {
    pending.push_back(std::async(std::launch::async, [&] {
      return told(client.mutex("x", kLong).try_acquire_for(60s));  // and given back
    }));
  }
  ASSERT_TRUE(eventually([&] { return waiters(plain, "x") == kWaiters; }));
  RedisServer& replica = servers.server(1 - servers.master());
  replica.pause();
  static_cast<void>(lease->release());
  pause_for(2s);
  for (auto& each : pending) EXPECT_FALSE(contract::is_ready(each));
  replica.resume();
  pause_for(200ms);
  servers.failover();
  for (auto& each : pending) {
    ASSERT_TRUE(arrives(each));
    EXPECT_EQ(each.get(), "granted");
  }
}

TEST(RedisSentinel, AMasterThatNoSentinelKnowsAndSentinelsThatAreDownAreNamed) {
  RedisWithSentinels servers;
  std::string wrong = servers.url();
  wrong.replace(wrong.find("/mymaster"), 9, "/nosuchmaster");
  const BootTime begun = BootClock::now();
  Client lost = open(wrong);
  const std::string said = told(lost.mutex("x", kLong).try_acquire());
  EXPECT_THAT(said, HasSubstr("knows no master 'nosuchmaster'"));
  EXPECT_LT(since(begun), 2s) << "all of them say so: waiting does not help";

  Client client = open(servers.url() + "?command_timeout_ms=1500");
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  for (int i = 0; i < 3; ++i) servers.sentinel(i).kill();
  // A client that is connected to the master needs no sentinel.
  EXPECT_EQ(told(lease->renew()), "granted");
  EXPECT_EQ(told(lease->release()), "granted");
  Client late = open(servers.url() + "?command_timeout_ms=1500");
  const Result<Lease> none = late.mutex("x", kLong).try_acquire();
  EXPECT_EQ(outcome_of(none), "unreachable");
  EXPECT_THAT(told(none), HasSubstr("sentinel"));
}

TEST(RedisSentinel, ASentinelThatIsDownOrStoppedCostsLittle) {
  RedisWithSentinels servers;
  servers.sentinel(0).kill();
  servers.sentinel(1).pause();
  Client client = open(servers.url());
  const BootTime begun = BootClock::now();
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  EXPECT_LT(since(begun), 2s);
  servers.sentinel(1).resume();
}

}  // namespace
}  // namespace holdfast::redis_tests
