// Too much, too slow, too many: the daemon stays small, and answers others.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <thread>

#include "daemon_fixture.h"

namespace holdfast::test {
namespace {

using Clock = std::chrono::steady_clock;

class LimitsTest : public DaemonTest {};

long cpu_ticks(pid_t pid) {
  const std::string stat = read_all("/proc/" + std::to_string(pid) + "/stat");
  std::istringstream fields(stat.substr(stat.rfind(") ") + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  long user = 0;
  long system = 0;
  fields >> user >> system;
  return user + system;
}

TEST_F(LimitsTest, ALongBodyIsRefusedAtOnceAndNotKept) {
  Daemon daemon = serve();
  const long before = memory_mb(daemon.process().pid());
  const std::string head =
      "POST /v1/locks/x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
  std::vector<HttpClient> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back(daemon.port());
    const bool chunked = i % 2 == 1;
    // The answer comes before the body has.
    ASSERT_TRUE(clients.back().send(head + (chunked ? "Transfer-Encoding: chunked\r\n\r\nA00000\r\n"
                                                    : "Content-Length: 10485760\r\n\r\n")));
    if (chunked) {
      ASSERT_TRUE(clients.back().send(std::string(70'000, ' ')));
    }
    const Answer refused = clients.back().answer();
    EXPECT_EQ(refused.status, 413) << refused.body;
    EXPECT_EQ(refused.json()["code"], "too_large");
  }
  const std::string megabyte(1 << 20, ' ');
  for (HttpClient& client : clients) {
    for (int i = 0; i < 10 && client.send(megabyte); ++i) {
    }
    EXPECT_TRUE(client.ended());
  }
  EXPECT_LT(memory_mb(daemon.process().pid()), before + 30);
  EXPECT_EQ(daemon.get("/healthz").status, 200);
}

TEST_F(LimitsTest, ALongHeaderIsRefused) {
  const Daemon daemon = serve();
  HttpClient client(daemon.port());
  client.send("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + std::string(200'000, 'x') +
              "\r\n\r\n");
  EXPECT_EQ(client.answer().status, 431);
  EXPECT_TRUE(client.ended());
}

// What comes while a request is held is kept to a bound.
TEST_F(LimitsTest, RequestsThatAreSentAheadAreNotTakenForEver) {
  Daemon daemon = serve();
  ASSERT_EQ(daemon.post("/v1/locks/x", {{"ttl_ms", 600'000}}).status, 200);
  const long before = memory_mb(daemon.process().pid());
  std::vector<HttpClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(daemon.begin(acquiring("x", {{"wait_ms", 300'000}})));
    timeval soon{0, 200'000};
    setsockopt(clients.back().descriptor(), SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
    clients.back().send(std::string(10 << 20, 'x'));
  }
  EXPECT_LT(memory_mb(daemon.process().pid()), before + 20);
  EXPECT_EQ(daemon.get("/healthz").status, 200);
}

TEST_F(LimitsTest, ARequestThatDoesNotComeIsGivenUp) {
  const Daemon daemon = serve();
  HttpClient header(daemon.port());
  HttpClient body(daemon.port());
  ASSERT_TRUE(header.send("POST /v1/locks/x HTTP/1.1\r\nHost: "));
  ASSERT_TRUE(
      body.send("POST /v1/locks/x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                "Content-Length: 2\r\n\r\n{"));
  // A byte now and then does not prolong it.
  const auto limit = Clock::now() + std::chrono::seconds(40);
  Answer answer;
  while (answer.status == 0 && Clock::now() < limit && header.send("1"))
    answer = header.answer(std::chrono::seconds(1));
  EXPECT_EQ(answer.status, 408) << answer.body;
  EXPECT_EQ(body.answer().status, 408);
  EXPECT_TRUE(header.ended());
  EXPECT_TRUE(body.ended());
  EXPECT_EQ(holders_of(daemon, "x"), 0U);
}

TEST_F(LimitsTest, AReaderOfTheFeedThatDoesNotReadHoldsUpNobody) {
  Daemon daemon = serve();
  std::vector<HttpClient> deaf;
  for (int i = 0; i < 5; ++i) {
    deaf.emplace_back(daemon.port(), 4096);
    ASSERT_TRUE(deaf.back().send(request_text({.target = "/v1/feed"})));
  }
  HttpClient good(daemon.port());
  ASSERT_TRUE(good.send(request_text({.target = "/v1/events"})));
  ASSERT_TRUE(good.read_to(": events from now on"));
  const std::string label(250, 'l');
  HttpClient busy(daemon.port());
  const auto pair = [&](int i) {
    const Answer taken = busy.ask(acquiring("x" + std::to_string(i % 50), {{"label", label}}));
    ASSERT_EQ(taken.status, 200) << taken.body;
    ASSERT_EQ(busy.ask({.method = "POST",
                        .target = "/v1/release",
                        .body = Json({{"lease", taken.json()["lease"]}}).dump()})
                  .status,
              200);
  };
  for (int i = 0; i < 200; ++i) pair(i);
  const long before = memory_mb(daemon.process().pid());
  for (int i = 0; i < 3000; ++i) pair(i);
  ASSERT_TRUE(good.event("released").contains("token"));
  // History keeps some of it, for everybody.
  EXPECT_LT(memory_mb(daemon.process().pid()), before + 60);
}

TEST_F(LimitsTest, ManyIdleConnectionsMakeRoomForOthers) {
  Daemon daemon({"--on", url()}, 400);
  ASSERT_TRUE(daemon.listening());
  std::vector<HttpClient> idle;
  for (int i = 0; i < 600; ++i) idle.emplace_back(daemon.port());
  EXPECT_EQ(daemon.get("/healthz").status, 200);
  // A held request is not idle: it stays.
  HttpClient held = daemon.begin(holding("x"));
  ASSERT_TRUE(held.event("granted").contains("token"));
  for (int i = 0; i < 600; ++i) idle.emplace_back(daemon.port());
  EXPECT_TRUE(held.event("renewed").contains("valid_for_ms"));
  EXPECT_EQ(daemon.post("/v1/locks/y", Json::object()).status, 200);
}

TEST_F(LimitsTest, AtTheLimitOfDescriptorsItDoesNotSpin) {
  Daemon daemon({"--on", url()}, 300);
  // Each of them is in use.
  std::vector<HttpClient> clients;
  for (int i = 0; i < 300; ++i) {
    clients.emplace_back(daemon.port());
    clients.back().send(request_text({.target = "/v1/events"}));
  }
  ASSERT_TRUE(clients[0].read_to("events from now on"));
  const long before = cpu_ticks(daemon.process().pid());
  std::this_thread::sleep_for(std::chrono::seconds(2));
  EXPECT_LT(cpu_ticks(daemon.process().pid()) - before, sysconf(_SC_CLK_TCK));
  clients.clear();
  EXPECT_TRUE(eventually([&] { return daemon.get("/healthz").status == 200; }));
}

TEST_F(LimitsTest, TenThousandIdleConnectionsAreNoBurden) {
  rlimit mine{};
  getrlimit(RLIMIT_NOFILE, &mine);
  if (mine.rlim_max < 10'500)
    GTEST_SKIP() << "this machine allows " << mine.rlim_max << " open files";
  mine.rlim_cur = mine.rlim_max;
  setrlimit(RLIMIT_NOFILE, &mine);
  Daemon daemon = serve();
  std::vector<HttpClient> idle;
  for (int i = 0; i < 10'000; ++i) {
    idle.emplace_back(daemon.port());
    ASSERT_TRUE(idle.back().connected()) << i;
  }
  ASSERT_TRUE(eventually([&] {
    return daemon.get("/metrics").body.find("connections 10001\n") != std::string::npos;
  }));
  EXPECT_EQ(daemon.post("/v1/locks/x", Json::object()).status, 200);
  EXPECT_LT(memory_mb(daemon.process().pid()), 200);
}

}  // namespace
}  // namespace holdfast::test
