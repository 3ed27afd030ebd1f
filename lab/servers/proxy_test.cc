#include "proxy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "redis_connection.h"
#include "redis_server.h"
#include "waiting.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class ProxyTest : public testing::Test {
 protected:
  RedisConnection connect(std::chrono::milliseconds timeout = 10s) const {
    return RedisConnection(proxy_.port(), "", timeout);
  }
  // How long a PING takes.
  static Clock::duration ping(RedisConnection& client) {
    const auto begin = Clock::now();
    EXPECT_EQ(client.command({"PING"}), "PONG");
    return Clock::now() - begin;
  }

  RedisServer server_;
  Proxy proxy_{server_.port()};
};

TEST_F(ProxyTest, PassesAndCounts) {
  auto client = connect();
  ping(client);
  EXPECT_EQ(proxy_.connections(), 1);
  EXPECT_EQ(proxy_.accepted(), 1);
  const std::string request = "*1\r\n$4\r\nPING\r\n";
  const std::string reply = "+PONG\r\n";
  EXPECT_EQ(proxy_.received(Direction::to_server), std::ssize(request));
  EXPECT_EQ(proxy_.delivered(Direction::to_server), std::ssize(request));
  EXPECT_EQ(proxy_.received(Direction::to_client), std::ssize(reply));
  EXPECT_EQ(proxy_.delivered(Direction::to_client), std::ssize(reply));
}

TEST_F(ProxyTest, PassesMuchAtOnce) {
  auto client = connect();
  const std::string value(8 << 20, 'x');
  EXPECT_EQ(client.command({"SET", "a", value}), "OK");
  EXPECT_EQ(client.command({"GET", "a"}), value);
}

TEST_F(ProxyTest, PassesTheEndOfAConnection) {
  {
    auto client = connect();
    ping(client);
  }
  wait_for("the end", [&] { return proxy_.connections() == 0; });
  auto client = connect();
  ping(client);
  server_.kill();
  EXPECT_THROW(client.command({"PING"}), std::runtime_error);
}

TEST_F(ProxyTest, ResetsTheClientIfTheServerRefuses) {
  server_.kill();
  EXPECT_THROW(connect().command({"PING"}), std::runtime_error);
}

TEST_F(ProxyTest, DelaysEachDirection) {
  auto client = connect();
  ping(client);
  proxy_.set(Direction::to_server, ProxyMode::delay, 60ms);
  EXPECT_GE(ping(client), 60ms);
  proxy_.set(Direction::to_client, ProxyMode::delay, 40ms);
  EXPECT_GE(ping(client), 100ms);
  proxy_.set_both(ProxyMode::pass);
  EXPECT_LT(ping(client), 60ms);
}

TEST_F(ProxyTest, HoldsUntilPass) {
  auto client = connect();
  ping(client);
  proxy_.set(Direction::to_client, ProxyMode::hold);
  auto reply = std::async(std::launch::async, [&] { return client.command({"SET", "a", "1"}); });
  // The request arrives; its answer does not.
  wait_for("the request", [&] { return server_.command({"GET", "a"}) == "1"; });
  EXPECT_EQ(reply.wait_for(20ms), std::future_status::timeout);
  proxy_.set(Direction::to_client, ProxyMode::pass);
  EXPECT_EQ(reply.get(), "OK");
}

TEST_F(ProxyTest, HoldsTheEndOfAConnection) {
  auto client = connect(100ms);
  ping(client);
  proxy_.set(Direction::to_client, ProxyMode::hold);
  server_.kill();
  try {
    client.command({"PING"});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "redis: Resource temporarily unavailable");  // a timeout
  }
}

TEST_F(ProxyTest, DropsRequests) {
  auto client = connect(50ms);
  ping(client);
  proxy_.set(Direction::to_server, ProxyMode::drop);
  EXPECT_THROW(client.command({"SET", "a", "1"}), std::runtime_error);
  EXPECT_GT(proxy_.received(Direction::to_server), proxy_.delivered(Direction::to_server));
  proxy_.set(Direction::to_server, ProxyMode::pass);
  auto another = connect();
  EXPECT_EQ(another.command({"GET", "a"}), "");
}

TEST_F(ProxyTest, DropsReplies) {
  auto client = connect(50ms);
  ping(client);
  proxy_.set(Direction::to_client, ProxyMode::drop);
  EXPECT_THROW(client.command({"SET", "a", "1"}), std::runtime_error);
  EXPECT_EQ(server_.command({"GET", "a"}), "1");
}

TEST_F(ProxyTest, DropsWhatItHeld) {
  auto client = connect(50ms);
  ping(client);
  proxy_.set(Direction::to_server, ProxyMode::hold);
  EXPECT_THROW(client.command({"SET", "a", "1"}), std::runtime_error);
  proxy_.set(Direction::to_server, ProxyMode::drop);
  proxy_.set(Direction::to_server, ProxyMode::pass);
  auto another = connect();
  EXPECT_EQ(another.command({"GET", "a"}), "");
}

TEST_F(ProxyTest, ResetEndsAllConnections) {
  auto first = connect();
  auto second = connect();
  ping(first);
  ping(second);
  proxy_.reset();
  EXPECT_EQ(proxy_.connections(), 0);
  for (RedisConnection* client : {&first, &second}) {
    try {
      client->command({"PING"});
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "redis: Connection reset by peer");
    }
  }
  auto third = connect();
  ping(third);
}

TEST_F(ProxyTest, RefusesNewConnectionsOnly) {
  auto before = connect();
  ping(before);
  for (int round = 0; round < 3; ++round) {
    proxy_.refuse(true);
    proxy_.refuse(true);
    try {
      connect();
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("refused"), std::string::npos) << error.what();
    }
    ping(before);
    proxy_.refuse(false);
    auto after = connect();
    ping(after);
  }
}

TEST_F(ProxyTest, CutConnectionsStayOpenAndSilent) {
  auto client = connect(50ms);
  ping(client);
  proxy_.cut();
  try {
    client.command({"SET", "a", "1"});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "redis: Resource temporarily unavailable");  // a timeout
  }
  EXPECT_EQ(proxy_.connections(), 1);
  auto another = connect();
  EXPECT_EQ(another.command({"GET", "a"}), "");
  proxy_.reset();
  EXPECT_EQ(proxy_.connections(), 0);
}

TEST_F(ProxyTest, InSilenceNeitherSideHearsThatTheOtherIsGone) {
  auto client = connect(300ms);
  auto idle = connect();
  ping(client);
  ping(idle);
  proxy_.silence(true);
  server_.kill();
  try {
    client.command({"PING"});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "redis: Resource temporarily unavailable");  // a timeout
  }
  EXPECT_EQ(proxy_.connections(), 2) << "the end of the server is not delivered";
  // Nor is a newcomer refused: it waits.
  try {
    auto another = connect(300ms);
    another.command({"PING"});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "redis: Resource temporarily unavailable");  // a timeout
  }
  server_.restart();
  proxy_.silence(false);
  EXPECT_THROW(idle.command({"PING"}), std::runtime_error) << "the end comes late";
  auto late = connect();
  ping(late);
}

TEST_F(ProxyTest, InSilenceTheServerKeepsTheConnectionOfAClientThatIsGone) {
  const auto clients = [&] { return server_.command({"CLIENT", "LIST", "TYPE", "normal"}); };
  {
    auto client = connect();
    EXPECT_EQ(client.command({"CLIENT", "SETNAME", "gone"}), "OK");
    proxy_.silence(true);
  }
  std::this_thread::sleep_for(100ms);
  EXPECT_NE(clients().find("name=gone"), std::string::npos);
  proxy_.silence(false);
  wait_for("the server to hear of it",
           [&] { return clients().find("name=gone") == std::string::npos; });
}

TEST_F(ProxyTest, LeadsToAnotherServer) {
  auto client = connect();
  EXPECT_EQ(client.command({"SET", "a", "1"}), "OK");
  RedisServer other;
  proxy_.lead_to(other.port());
  EXPECT_THROW(client.command({"GET", "a"}), std::runtime_error);
  EXPECT_EQ(connect().command({"GET", "a"}), "");
}

TEST_F(ProxyTest, InjectsToAllClients) {
  auto first = connect();
  auto second = connect();
  ping(first);
  ping(second);
  proxy_.set(Direction::to_client, ProxyMode::hold);
  proxy_.inject("+surprise\r\n");
  EXPECT_EQ(first.read(), "surprise");
  EXPECT_EQ(second.read(), "surprise");
}

TEST_F(ProxyTest, ManyThreadsAndMethodsAtOnce) {
  const auto chaos = std::async(std::launch::async, [&] {
    for (int i = 0; i < 200; ++i) {
      proxy_.set_both(i % 2 == 0 ? ProxyMode::hold : ProxyMode::pass);
      if (i % 10 == 0) proxy_.reset();
    }
    proxy_.set_both(ProxyMode::pass);
  });
  int replies = 0;
  while (chaos.wait_for(0s) != std::future_status::ready) {
    try {
      auto client = connect(1s);
      replies += client.command({"PING"}) == "PONG" ? 1 : 0;
    } catch (const std::runtime_error&) {
      continue;  // reset
    }
  }
  auto client = connect();
  ping(client);
  EXPECT_EQ(proxy_.connections(), 1) << replies;
}

}  // namespace
}  // namespace holdfast::test
