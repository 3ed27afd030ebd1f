// Nodes that come back while something else happens: their clocks are set, or many clients see to it.
#include "redlock_testing.h"

namespace holdfast::redlock_tests {
namespace {

constexpr LockOptions kShortLived{.ttl = 1s};

// Three masters that keep their data, and whose clocks can be set.
class RedlockRefound : public testing::Test {
 protected:
  RedisServer& at(std::size_t node) { return masters_.at(node); }
  std::string marker(std::size_t node) { return at(node).command({"GET", kMarker}); }
  void restart_all() {
    for (const std::size_t node : {0, 1, 2}) at(node).kill();
    for (const std::size_t node : {0, 1, 2}) at(node).restart();
  }
  static Token take(Client& client, const std::string& name = "x") {
    Result<Lease> lease = client.mutex(name, kShortLived).try_acquire_for(20s);
    EXPECT_EQ(told(lease), "granted");
    return lease ? lease->token() : Token();
  }
  bool all_join(Client& client) {
    return eventually([&] {
      static_cast<void>(client.mutex("look", kShortLived).try_acquire());
      pause_for(20ms);
      return marker(0).starts_with("joining ") && marker(1).starts_with("joining ") &&
             marker(2).starts_with("joining ");
    });
  }

  RedisMasters masters_{{.count = 3, .durable = true, .movable_clock = true}};
  std::string url_ = masters_.url() + "?longest_ttl_ms=2000";
};

// A rack that comes up with a clock that is an hour ahead, until somebody sets it right.
TEST_F(RedlockRefound, AClockThatIsSetBackDoesNotMakeTheSilenceLonger) {
  Client client = open(url_);
  const Token before = take(client);
  for (const std::size_t node : {0, 1, 2}) at(node).kill();
  for (const std::size_t node : {0, 1, 2}) at(node).clock().jump(1h);
  for (const std::size_t node : {0, 1, 2}) at(node).restart();
  ASSERT_TRUE(all_join(client));
  for (const std::size_t node : {0, 1, 2}) at(node).clock().jump(-1h);
  const BootTime begun = BootClock::now();
  EXPECT_GT(take(client), before);
  EXPECT_GE(since(begun), 1900ms) << "it is not known how much of it is over";
}

// A power cut, and everybody waits.
TEST_F(RedlockRefound, ManyClientsThatRefoundAtOnceDoNotUndoEachOthersWork) {
  constexpr int kClients = 16;
  std::vector<Client> clients;
  Token before;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(open(url_));
    before = take(clients.back());
  }
  restart_all();
  std::vector<std::jthread> threads;
  for (Client& client : clients) {
    threads.emplace_back([&client, before] { EXPECT_GT(take(client), before); });
  }
}

}  // namespace
}  // namespace holdfast::redlock_tests
