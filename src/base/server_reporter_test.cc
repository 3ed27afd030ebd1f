#include "base/server_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace holdfast::internal {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::SizeIs;

class Heard final : public Observer {
 public:
  void on_server(const ServerEvent& event) override {
    events.push_back(std::string(server_event_name(event.kind)) + " " + event.server +
                     (event.why ? " (" + event.why->message() + ")" : ""));
  }
  std::vector<std::string> events;
};

class ServerReporterTest : public testing::Test {
 protected:
  const std::shared_ptr<Heard> heard_ = std::make_shared<Heard>();
  ServerReporter reporter_{heard_};
  BootTime now_{1h};

  static Failure because(const std::string& why) { return Failure(Code::unreachable, why); }
};

TEST_F(ServerReporterTest, TheSecondConnectionToAServerTellsNothing) {
  reporter_.opened("a", now_);
  reporter_.opened("a", now_);
  reporter_.opened("b", now_);
  EXPECT_THAT(heard_->events, ElementsAre("connected a", "connected b"));
}

TEST_F(ServerReporterTest, ALossIsToldOnceAndSoIsTheReturn) {
  reporter_.opened("a", now_);
  reporter_.lost("a", because("reset"), now_);
  reporter_.lost("a", because("reset"), now_);
  reporter_.opened("a", now_);
  reporter_.opened("a", now_);
  EXPECT_THAT(heard_->events,
              ElementsAre("connected a", "disconnected a (reset)", "reconnected a"));
}

TEST_F(ServerReporterTest, AServerThatWasNeverReachedIsConnectedToAndNotReconnected) {
  reporter_.failed_to_open("a", because("refused"), now_);
  reporter_.opened("a", now_);
  EXPECT_THAT(heard_->events, ElementsAre("connect_failed a (refused)", "connected a"));
}

TEST_F(ServerReporterTest, AServerThatStaysDownIsToldAboutWhenItIsNews) {
  for (int i = 0; i < 250; ++i) {
    reporter_.failed_to_open("a", because(i < 100 ? "refused" : "silent"), now_);
    now_ += 100ms;
  }
  EXPECT_THAT(heard_->events, ElementsAre("connect_failed a (refused)", "connect_failed a (silent)",
                                          "connect_failed a (silent)"));
}

TEST_F(ServerReporterTest, AServerThatComesAndGoesAllTheTimeIsBounded) {
  for (int i = 0; i < 10'000; ++i) {
    reporter_.opened("a", now_);
    reporter_.lost("a", because(std::to_string(i)), now_);
    now_ += 10ms;
  }
  // 10 at once and one a second, each with its reconnection.
  const auto most = 2 * (10 + 100);
  EXPECT_LE(heard_->events.size(), most + 1);
  EXPECT_GE(heard_->events.size(), most - 2);
  // In pairs all the same.
  for (std::size_t i = 1; i < heard_->events.size(); ++i) {
    EXPECT_EQ(heard_->events[i].starts_with("disconnected"), i % 2 == 1) << i;
  }
}

TEST_F(ServerReporterTest, DifferentErrorsAreBoundedToo) {
  for (int i = 0; i < 10'000; ++i) {
    reporter_.refused("a", because("no right to " + std::to_string(i)), now_);
  }
  EXPECT_THAT(heard_->events, SizeIs(10));
  reporter_.refused("b", because("no right"), now_);
  EXPECT_EQ(heard_->events.back(), "error b (no right)");
}

TEST_F(ServerReporterTest, AStrangersAddressIsMadePrintable) {
  reporter_.opened("a\x1b[2J\n:1", now_);
  EXPECT_THAT(heard_->events, ElementsAre("connected a\\x1B[2J\\x0A:1"));
}

TEST_F(ServerReporterTest, OfCountlessServersTheOldestAreForgotten) {
  for (int i = 0; i < 1000; ++i) {
    reporter_.opened(std::to_string(i), now_ += 1ms);
  }
  EXPECT_THAT(heard_->events, SizeIs(1000));
  reporter_.opened("999", now_);
  EXPECT_THAT(heard_->events, SizeIs(1000));
  reporter_.opened("0", now_);
  EXPECT_EQ(heard_->events.back(), "connected 0");
}

}  // namespace
}  // namespace holdfast::internal
