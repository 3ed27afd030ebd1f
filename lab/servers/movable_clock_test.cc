#include "movable_clock.h"

#include <gtest/gtest.h>

#include <thread>

#include "redis_server.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

std::int64_t now_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// How many seconds the server is ahead of us, give or take the one it takes to ask.
std::int64_t ahead_s(RedisServer& server) { return std::stoll(server.command({"TIME"})) - now_s(); }

class MovableClockTest : public testing::Test {
 protected:
  RedisServer server_{{.movable_clock = true}};
};

TEST_F(MovableClockTest, IsRightAtFirst) {
  EXPECT_NEAR(static_cast<double>(ahead_s(server_)), 0, 2);
  EXPECT_EQ(server_.clock().offset(), 0us);
}

TEST_F(MovableClockTest, JumpsAheadAndBackWhileTheServerRuns) {
  const pid_t pid = server_.pid();
  server_.clock().jump(1h);
  EXPECT_NEAR(static_cast<double>(ahead_s(server_)), 3600, 2);
  server_.clock().jump(-2h);
  EXPECT_NEAR(static_cast<double>(ahead_s(server_)), -3600, 2);
  server_.clock().jump(24h * 365 * 20);
  EXPECT_NEAR(static_cast<double>(ahead_s(server_)), 3600. * 24 * 365 * 20 - 3600, 2);
  EXPECT_EQ(server_.pid(), pid);
}

TEST_F(MovableClockTest, AKeyVanishesWhenTheClockJumpsPastItsEnd) {
  server_.command({"SET", "brief", "1", "PX", "10000"});
  server_.command({"SET", "lasting", "1", "PX", "100000"});
  server_.clock().jump(9s);
  EXPECT_EQ(server_.command({"GET", "brief"}), "1");
  server_.clock().jump(2s);
  EXPECT_EQ(server_.command({"GET", "brief"}), "");
  EXPECT_EQ(server_.command({"GET", "lasting"}), "1");
}

TEST_F(MovableClockTest, AKeyLastsLongerWhenTheClockJumpsBack) {
  server_.command({"SET", "a", "1", "PX", "50"});
  server_.clock().jump(-1h);
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(server_.command({"GET", "a"}), "1");
  EXPECT_GT(std::stoll(server_.command({"PTTL", "a"})), 3'590'000);
}

TEST_F(MovableClockTest, ScriptsSeeItToo) {
  server_.clock().jump(1h);
  const std::string script = "return redis.call('TIME')[1]";
  EXPECT_NEAR(static_cast<double>(std::stoll(server_.command({"EVAL", script, "0"})) - now_s()),
              3600, 2);
}

TEST_F(MovableClockTest, OutlastsARestart) {
  server_.clock().jump(1h);
  server_.restart();
  EXPECT_NEAR(static_cast<double>(ahead_s(server_)), 3600, 2);
  server_.clock().jump(-1h);
  EXPECT_NEAR(static_cast<double>(ahead_s(server_)), 0, 2);
}

TEST_F(MovableClockTest, OneServersClockIsNotAnothers) {
  RedisServer other({.movable_clock = true});
  server_.clock().jump(1h);
  EXPECT_NEAR(static_cast<double>(ahead_s(other)), 0, 2);
}

// The clock of Redis' uptime and timers does not follow: a jump of the wall clock is one
// of the wall clock alone, as on a real machine.
TEST_F(MovableClockTest, TheServersTimersGoOnAfterAJumpBack) {
  server_.clock().jump(-24h);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(server_.command({"BLPOP", "nothing", "0.05"}), "");
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, 40ms);
  EXPECT_LT(took, 5s);
}

// A program that shows both clocks: the monotonic one has an offset of its own.
TEST(MovableClockOfAProgramTest, MonotonicAndWallClockMoveApart) {
  const TempDir directory;
  MovableClock clock(directory.path() / "clock");
  clock.jump_monotonic(24h * 1000);
  const auto shown = [&](const std::string& format) {
    ServerProcess program(
        {find_program("python3", "python3"), "-c", "import time; print(int(" + format + "))"},
        directory.path() / "log", clock.environment());
    program.wait();
    std::string log = program.log();
    std::filesystem::remove(directory.path() / "log");
    return std::stoll(log);
  };
  EXPECT_NEAR(static_cast<double>(shown("time.time()") - now_s()), 0, 5);
  EXPECT_GE(shown("time.monotonic()"), 86'400'000);
  clock.jump(-1h);
  EXPECT_NEAR(static_cast<double>(shown("time.time()") - now_s()), -3600, 5);
  EXPECT_LT(shown("time.clock_gettime(time.CLOCK_BOOTTIME)"), 86'400'000);
}

TEST(StalledDiskTest, KeepsAServerThatSyncsFromAnswering) {
  RedisServer server({.durable = true, .movable_clock = true});
  server.clock().stall_disk(true);
  RedisConnection client(server.port(), "", 500ms);
  EXPECT_THROW(client.command({"SET", "a", "1"}), std::runtime_error);
  server.clock().stall_disk(false);
  EXPECT_EQ(server.command({"GET", "a"}), "1");
}

}  // namespace
}  // namespace holdfast::test
