// One deadline for a call: neither a silent address nor a silent resolver uses up the time of others.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/real_runtime.h"
#include "holdfast/holdfast.h"
#include "host.h"
#include "mariadb_server.h"
#include "postgres_server.h"
#include "redis_server.h"
#include "waiting.h"
#include "wire/resolve.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using internal::Descriptor;
using internal::RealRuntime;

// An address that drops what comes: it listens, and its queue is full.
class BlackHole {
 public:
  BlackHole(const std::string& address, int port) {
    to_.sin_family = AF_INET;
    to_.sin_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET, address.c_str(), &to_.sin_addr);
    listener_ = Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int yes = 1;
    setsockopt(listener_.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener_.number(), reinterpret_cast<const sockaddr*>(&to_), sizeof to_) != 0 ||
        listen(listener_.number(), 0) != 0) {
      throw std::runtime_error("no black hole at " + address);
    }
    for (int i = 0; i < 16; ++i) fillers_.push_back(begin_connecting());
    wait_for("a full queue", [&] { return !answers(); });
  }

  // Whether it lets anybody in.
  bool answers() const {
    const Descriptor probe = begin_connecting();
    pollfd poll{.fd = probe.number(), .events = POLLOUT, .revents = 0};
    return ::poll(&poll, 1, 200) != 0;
  }

 private:
  Descriptor begin_connecting() const {
    Descriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    static_cast<void>(connect(made.number(), reinterpret_cast<const sockaddr*>(&to_), sizeof to_));
    return made;
  }

  sockaddr_in to_{};
  Descriptor listener_;
  std::vector<Descriptor> fillers_;
};

TEST(Connecting, ASilentAddressDoesNotUseUpTheTimeOfTheOther) {
  const RedisServer server;
  const BlackHole hole("127.0.0.2", server.port());
  set_addresses("two.guest.test", {"127.0.0.2", "127.0.0.1"});
  Client client = Client::open("redis://two.guest.test:" + std::to_string(server.port()),
                               {.request_timeout = 10s})
                      .value();
  const BootTime begin = BootClock::now();
  const Result<Lease> lease = client.mutex("x").try_acquire();
  ASSERT_TRUE(lease) << lease.message();
  EXPECT_LT(BootClock::now() - begin, 8s);
  EXPECT_FALSE(hole.answers());
}

// `url`, with a name of two addresses for the host: the first is silent.
void expect_the_other_address(std::string url, int port) {
  const BlackHole hole("127.0.0.2", port);
  set_addresses("two.guest.test", {"127.0.0.2", "127.0.0.1"});
  const std::size_t host = url.find("127.0.0.1");
  ASSERT_NE(host, std::string::npos) << url;
  url.replace(host, std::strlen("127.0.0.1"), "two.guest.test");
  Client client = Client::open(url, {.request_timeout = 10s}).value();
  const Result<Lease> lease = client.mutex("x").try_acquire();
  EXPECT_TRUE(lease) << lease.message();
}

// These libraries connect by themselves, to one address after the other.
TEST(Connecting, ASilentAddressLeavesTimeForTheOtherOnPostgres) {
  const PostgresServer server;
  expect_the_other_address(server.url(), server.port());
}

TEST(Connecting, ASilentAddressLeavesTimeForTheOtherOnMariadb) {
  const MariadbServer server;
  expect_the_other_address(server.url(), server.port());
}

// Head starts of 250 ms each would leave the third no time at all.
TEST(Connecting, SilentAddressesLeaveTimeForTheLastOfAShortTimeout) {
  const RedisServer server;
  const BlackHole one("127.0.0.2", server.port());
  const BlackHole two("127.0.0.3", server.port());
  set_addresses("three.guest.test", {"127.0.0.2", "127.0.0.3", "127.0.0.1"});
  const std::string port = std::to_string(server.port());
  Client client =
      Client::open("redis://three.guest.test:" + port + "?connect_timeout_ms=450").value();
  const Result<Lease> lease = client.mutex("x").try_acquire_for(20s);
  EXPECT_TRUE(lease) << lease.message();
  EXPECT_FALSE(one.answers());
}

TEST(Connecting, ARefusedAddressIsPassedOverAtOnce) {
  const RedisServer server;
  set_addresses("refused.guest.test", {"127.0.0.3", "127.0.0.1"});
  Client client =
      Client::open("redis://refused.guest.test:" + std::to_string(server.port())).value();
  const Result<Lease> lease = client.mutex("x").try_acquire();
  EXPECT_TRUE(lease) << lease.message();
}

TEST(Connecting, WhereAllAddressesAreSilentTheDeadlineHolds) {
  const RedisServer server;
  const BlackHole one("127.0.0.2", server.port());
  const BlackHole two("127.0.0.3", server.port());
  set_addresses("dead.guest.test", {"127.0.0.2", "127.0.0.3"});
  Client client = Client::open("redis://dead.guest.test:" + std::to_string(server.port()),
                               {.request_timeout = 3s})
                      .value();
  const BootTime begin = BootClock::now();
  EXPECT_FALSE(client.mutex("x").try_acquire());
  EXPECT_LT(BootClock::now() - begin, 5800ms) << "longer than one timeout";
}

TEST(Resolving, ASilentResolverDoesNotDoubleTheTimeout) {
  const HangingResolver resolver;
  Client client = Client::open("redis://hangs.guest.test:1", {.request_timeout = 3s}).value();
  const BootTime begin = BootClock::now();
  EXPECT_FALSE(client.mutex("x").try_acquire());
  EXPECT_LT(BootClock::now() - begin, 5800ms) << "longer than one timeout";
}

TEST(Resolving, ALookupThatHangsDelaysNoOther) {
  const HangingResolver resolver;
  set_addresses("one.guest.test", {"127.0.0.1"});
  RealRuntime runtime;
  const auto hang = [&]() -> Task<void> {
    static_cast<void>(
        co_await internal::resolve(runtime, "hangs.guest.test", Deadline::at(runtime.now() + 60s)));
  };
  std::optional<TaskGroup> group;
  const auto begin = [&]() -> Task<void> {
    group.emplace(runtime);
    for (int i = 0; i < 20; ++i) group->spawn(hang());
    co_return;
  };
  runtime.block_on(begin());
  wait_for("the lookup", [] { return HangingResolver::hanging() > 0; });
  std::optional<Result<std::vector<std::string>>> found;
  const auto other = [&]() -> Task<void> {
    found =
        co_await internal::resolve(runtime, "one.guest.test", Deadline::at(runtime.now() + 20s));
  };
  runtime.block_on(other());
  ASSERT_TRUE(*found) << found->message();
  EXPECT_THAT(**found, testing::ElementsAre("127.0.0.1"));
  EXPECT_EQ(HangingResolver::hanging(), 1) << "lookups of one name share a thread";
  const auto end = [&]() -> Task<void> {
    group.reset();
    co_return;
  };
  runtime.block_on(end());
}

// The thread goes on hanging; what it finds later is for nobody.
TEST(Resolving, ALookupThatHangsDoesNotDelayTheEndOfTheClient) {
  BootTime begin;
  std::optional<HangingResolver> resolver(std::in_place);
  {
    Client client = Client::open("redis://hangs.guest.test:1", {.request_timeout = 60s}).value();
    std::stop_source stop;
    std::thread waiter([&] { EXPECT_FALSE(client.mutex("x").acquire(stop.get_token())); });
    wait_for("the lookup", [] { return HangingResolver::hanging() > 0; });
    begin = BootClock::now();
    stop.request_stop();
    waiter.join();
  }
  EXPECT_LT(BootClock::now() - begin, 20s);
  EXPECT_EQ(HangingResolver::hanging(), 1);
  resolver.reset();
}

}  // namespace
}  // namespace holdfast::test
