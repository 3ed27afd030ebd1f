// Exhausted resources fail a call, with a message that names the limit, and leave the client usable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "holdfast/holdfast.h"
#include "host.h"
#include "redis_server.h"
#include "temp_dir.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using testing::HasSubstr;

constexpr auto kPatience = 20s;

class Exhaustion : public testing::TestWithParam<const char*> {
 protected:
  Client open() { return Client::open(url()).value(); }
  std::string url() {
    if (std::string(GetParam()) == "sqlite")
      return "sqlite://" + (directory_.path() / "db").string();
    if (!server_) server_ = std::make_unique<RedisServer>();
    return server_->url();
  }

 private:
  TempDir directory_;
  std::unique_ptr<RedisServer> server_;
};

INSTANTIATE_TEST_SUITE_P(On, Exhaustion, testing::Values("sqlite", "redis"),
                         [](const auto& instance) { return std::string(instance.param); });

// Without the thread nothing would renew the lock, and nothing would say that it is lost.
TEST_P(Exhaustion, WithoutAThreadNothingIsAcquired) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  {
    const FewThreads none(0);
    const Result<Lease> lease = mutex.try_acquire();
    ASSERT_FALSE(lease);
    EXPECT_EQ(lease.code(), Code::exhausted);
    EXPECT_THAT(lease.message(), HasSubstr("no more threads can be started"));
  }
  Result<Lease> lease = mutex.try_acquire();
  ASSERT_TRUE(lease) << lease.message();
  EXPECT_TRUE(lease->release());
}

TEST_P(Exhaustion, WithoutAThreadAnAsynchronousCallSaysSo) {
  Client client = open();
  const FewThreads none(0);
  try {
    client.mutex("x").async_try_acquire().then([](const Result<Lease>&) {});
    FAIL() << "it began";
  } catch (const LockError& error) {
    EXPECT_EQ(error.code(), Code::exhausted);
  }
}

TEST_P(Exhaustion, AClientThatNeverGotAThreadCanBeDestroyed) {
  static_cast<void>(url());  // Starts the server, which needs a thread.
  const FewThreads none(0);
  Client client = open();
  EXPECT_FALSE(client.mutex("x").try_acquire());
}

TEST_P(Exhaustion, ACallbackComesWhenAThreadCanBeHad) {
  Client client = open();
  std::promise<void> heard;
  {
    Result<Lease> lease = client.mutex("x").try_acquire();
    ASSERT_TRUE(lease) << lease.message();
    const FewThreads none(0);
    lease->async_release().then([&](const Result<void>&) { heard.set_value(); });
    // The release itself needs no thread more.
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!client.inspect("x")->holders.empty() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_TRUE(client.inspect("x")->holders.empty());
  }
  EXPECT_EQ(heard.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST_P(Exhaustion, ACallbackThatFoundNoThreadComesWithTheEndOfTheClient) {
  std::promise<void> heard;
  {
    Client client = open();
    Result<Lease> lease = client.mutex("x").try_acquire();
    ASSERT_TRUE(lease) << lease.message();
    const FewThreads none(0);
    lease->async_release().then([&](const Result<void>&) { heard.set_value(); });
    client = open();
  }
  EXPECT_EQ(heard.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST_P(Exhaustion, WithoutDescriptorsOpeningFailsAndNamesTheLimit) {
  const std::string where = url();
  // Judged afterwards: the sanitizers need descriptors, too.
  std::optional<FewDescriptors> none(std::in_place, 0);
  const Result<Client> client = Client::open(where);
  none.reset();
  ASSERT_FALSE(client);
  EXPECT_THAT(client.message(), HasSubstr("RLIMIT_NOFILE"));
  EXPECT_TRUE(Client::open(where));
}

TEST(ExhaustionOfRedis, WithoutADescriptorForTheConnectionACallFailsAndNamesTheLimit) {
  const RedisServer server;
  Client client = Client::open(server.url(), {.request_timeout = 2s}).value();
  std::optional<FewDescriptors> none(std::in_place, 0);
  const Result<Lease> refused = client.mutex("x").try_acquire();
  none.reset();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.message(), HasSubstr("RLIMIT_NOFILE"));
  Result<Lease> lease = client.mutex("x").try_acquire_for(10s);
  EXPECT_TRUE(lease) << lease.message();
}

TEST(ExhaustionOfRedis, WithoutAThreadForTheLookupACallFailsAndSaysSo) {
  const RedisServer server;
  set_addresses("one.guest.test", {"127.0.0.1"});
  Client client = Client::open("redis://one.guest.test:" + std::to_string(server.port()),
                               {.request_timeout = 2s})
                      .value();
  {
    const FewThreads one(1);  // the client's own
    const Result<Lease> lease = client.mutex("x").try_acquire();
    ASSERT_FALSE(lease);
    EXPECT_THAT(lease.message(), HasSubstr("no more threads can be started"));
  }
  Result<Lease> lease = client.mutex("x").try_acquire_for(10s);
  EXPECT_TRUE(lease) << lease.message();
}

}  // namespace
}  // namespace holdfast::test
