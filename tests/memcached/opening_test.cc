// A fault of a URL, or of the server that it leads to, is said by the name of what is
// wrong.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "bad_urls.h"
#include "memcached_testing.h"
#include "redis_server.h"

namespace holdfast::memcached_tests {
namespace {

class MemcachedUrl : public testing::TestWithParam<Wrong> {};

TEST_P(MemcachedUrl, WhatIsWrongIsNamed) { expect_refused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    , MemcachedUrl,
    testing::Values(
        Wrong{"memcached:127.0.0.1", "must be followed by //"},
        Wrong{"memcached://me:secret@127.0.0.1", "SASL"},
        Wrong{"memcached://127.0.0.1:0", "the port is not a number"},
        Wrong{"memcached://a,b", "several servers"},
        Wrong{"memcached://127.0.0.1/1", "no databases"},
        Wrong{"memcached://127.0.0.1?prefix=", "the option 'prefix' is empty"},
        Wrong{"memcached://127.0.0.1?prefix=a%20b", "without spaces"},
        Wrong{"memcached://127.0.0.1?nonsense=1", "unknown option 'nonsense' (there is socket"},
        Wrong{"memcached://127.0.0.1?connect_timeout_ms=0", "connect_timeout_ms is a number"},
        Wrong{"memcached://127.0.0.1?command_timeout_ms=1s", "command_timeout_ms is a number"}),
    number_of);

TEST(MemcachedOpening, APasswordIsNotShown) {
  EXPECT_THAT(told(Client::open("memcached://me:secret@127.0.0.1")),
              testing::Not(HasSubstr("secret")));
}

TEST(MemcachedOpening, AUnixSocketWorks) {
  MemcachedServer server({.unix_socket = true});
  Client client = open(server.url());
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  EXPECT_TRUE(present(server, "x"));
  EXPECT_EQ(client.list().value().size(), 1U);
}

// Answers everything that comes with the same bytes, to one client after the other.
class Parrot {
 public:
  explicit Parrot(std::string said) : said_(std::move(said)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const general = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, general, size) != 0 || ::listen(listener_, 10) != 0 ||
        ::getsockname(listener_, general, &size) != 0) {
      throw std::runtime_error("no parrot");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  ~Parrot() {
    thread_ = {};
    ::close(listener_);
  }
  int port() const { return port_; }

 private:
  static bool ready(int descriptor) {
    pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, 20) > 0;
  }
  void serve(const std::stop_token& stop) const {
    while (!stop.stop_requested()) {
      if (!ready(listener_)) continue;
      const int client = ::accept(listener_, nullptr, nullptr);
      std::array<char, 1000> heard{};
      for (bool there = true; there && !stop.stop_requested();) {
        if (!ready(client)) continue;
        there = ::recv(client, heard.data(), heard.size(), 0) > 0 &&
                ::send(client, said_.data(), said_.size(), MSG_NOSIGNAL) > 0;
      }
      ::close(client);
    }
  }

  std::string said_;
  int listener_ = -1;
  int port_ = 0;
  std::jthread thread_;
};

std::string told_by(const std::string& server_says) {
  const Parrot parrot(server_says);
  Client client = open(url_of(parrot.port(), "?command_timeout_ms=500&connect_timeout_ms=500"));
  return told(client.mutex("x", kLong).try_acquire());
}

TEST(MemcachedOpening, AServerWithoutMetaCommandsIsNamedWithItsVersion) {
  const std::string said = told_by("VERSION 1.5.22\r\nERROR\r\n");
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("1.6 or newer is needed, and this is 1.5.22"));
}

TEST(MemcachedOpening, AServerThatWantsALoginIsNamed) {
  const std::string said =
      told_by("CLIENT_ERROR unauthenticated\r\nCLIENT_ERROR unauthenticated\r\n");
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("login"));
}

TEST(MemcachedOpening, AServerOfAnotherKindIsNamed) {
  const test::RedisServer redis;
  Client client = open(url_of(redis.plain_port(), "?connect_timeout_ms=1000"));
  const std::string said = told(client.mutex("x", kLong).try_acquire());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("not a memcached"));
}

TEST(MemcachedOpening, AServerThatSaysNothingIsGivenUp) {
  const BootTime begun = BootClock::now();
  const Proxy nowhere(1);
  Client client = open(url_of(nowhere, "?connect_timeout_ms=300&command_timeout_ms=300"));
  EXPECT_THAT(told(client.mutex("x", kLong).try_acquire()), StartsWith("unreachable"));
  EXPECT_LT(since(begun), 5s);
}

TEST(MemcachedOpening, ModesThatItDoesNotHaveAreRefusedWhenTheLockIsMade) {
  MemcachedServer server;
  Client client = open(server.url());
  EXPECT_EQ(contract::thrown_by([&] { client.shared_mutex("x"); }), "unsupported");
  EXPECT_EQ(contract::thrown_by([&] { client.semaphore("x", 2); }), "unsupported");
  EXPECT_EQ(contract::thrown_by([&] { client.mutex("x", {.ttl = 1999ms}); }), "invalid_argument");
}

}  // namespace
}  // namespace holdfast::memcached_tests
