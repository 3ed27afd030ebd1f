// Wall clocks that jump, or are wrong all the time, at nodes and at clients. A jump may end a vote early;
// tokens need no clock to be unique and to grow, since a clock only chooses where they begin.
#include "child.h"
#include "redlock_testing.h"
#include "temp_dir.h"

namespace holdfast::redlock_tests {
namespace {

using contract::Child;
using contract::Dice;
using std::chrono::microseconds;

// Longer than a test takes, and not renewed: its holder believes in it to the end of the test. A jump by
// kPastTtl ends it at a node.
constexpr LockOptions kUnrenewed{.ttl = 30s, .auto_renew = false};
constexpr microseconds kPastTtl = 60s;
constexpr microseconds kYear = 24h * 365;

class RedlockClocks : public testing::Test {
 protected:
  // How one client sees the nodes, each through a proxy of its own.
  class View {
   public:
    explicit View(RedisMasters& masters) {
      for (std::size_t i = 0; i < masters.size(); ++i) {
        proxies_.push_back(std::make_unique<Proxy>(masters.at(i).port()));
      }
    }
    std::string url() const {
      std::vector<int> ports;
      for (const auto& proxy : proxies_) ports.push_back(proxy->port());
      return url_of(ports, kPatient);
    }
    // The nodes refuse this client at once, or no longer.
    void cut_off(std::initializer_list<std::size_t> nodes, bool cut = true) {
      for (const std::size_t node : nodes) {
        proxies_.at(node)->refuse(cut);
        if (cut) proxies_.at(node)->reset();
      }
    }
    // Both directions together take `latency`.
    void slow_down(std::size_t node, std::chrono::milliseconds latency) {
      proxies_.at(node)->set_both(ProxyMode::delay, latency / 2);
    }

   private:
    std::vector<std::unique_ptr<Proxy>> proxies_;
  };

  void SetUp() override {
    Client client = open(url());
    ASSERT_EQ(told(client.mutex("x", kUnrenewed).try_acquire_for(10s)), "granted");
    expect_locked_at({});
  }

  std::string url() const { return masters_.url() + kPatient; }
  void jump(std::initializer_list<std::size_t> nodes, microseconds by) {
    for (const std::size_t node : nodes) masters_.at(node).clock().jump(by);
  }
  void expect_locked_at(const std::vector<std::size_t>& nodes) {
    EXPECT_TRUE(eventually([&] {
      std::vector<std::size_t> locked;
      for (std::size_t node = 0; node < masters_.size(); ++node) {
        if (masters_.at(node).command({"EXISTS", kWord}) == "1") locked.push_back(node);
      }
      return locked == nodes;
    }));
  }
  // A holds the nodes 0, 1 and 2 only; the clock of 2 jumps, and B reaches 2, 3 and 4.
  Lease bare_majority_of_a_ends_at_one_node(Client& a) {
    seen_by_a_.cut_off({3, 4});
    Lease lease = a.mutex("x", kUnrenewed).try_acquire().value();
    expect_locked_at({0, 1, 2});
    jump({2}, kPastTtl);
    seen_by_b_.cut_off({0, 1});
    return lease;
  }
  void expect_next(Token token) {
    EXPECT_GT(token, last_);
    last_ = token;
  }
  void take_turns(Client& one, Client& two, int rounds) {
    for (int i = 0; i < rounds; ++i) {
      Result<Lease> lease = (i % 2 == 0 ? one : two).mutex("x").try_acquire_for(10s);
      ASSERT_EQ(told(lease), "granted");
      expect_next(lease->token());
      EXPECT_TRUE(lease->release());
    }
  }
  // A process whose clock is wrong takes turns with a client whose clock is right.
  void take_turns_with_a_process(microseconds ahead) {
    clock_.jump(ahead);
    Child child(url(), clock_.environment());
    Client client = open(url());
    for (int i = 0; i < 6; ++i) {
      const std::string answer = child.ask(Child::command("acquire", "x", 30s));
      ASSERT_THAT(answer, StartsWith("granted "));
      expect_next(Token(std::stoull(answer.substr(8))));
      EXPECT_EQ(child.ask("held"), "yes");
      EXPECT_FALSE(client.mutex("x").try_acquire());
      EXPECT_EQ(child.ask("release"), "ok");
      take_turns(client, client, 1);
    }
  }

  // On a machine that is busy a node may need more than the usual quarter of a second to answer.
  static constexpr const char* kPatient = "?node_timeout_ms=1000";
  RedisMasters masters_{{.count = 5, .movable_clock = true}};
  View seen_by_a_{masters_};
  View seen_by_b_{masters_};
  const test::TempDir directory_;
  test::MovableClock clock_{directory_.path() / "clock"};  // of a process
  Token last_;
};

TEST_F(RedlockClocks, TwoOfFiveThatJumpDoNotEndAHoldOnAllFive) {
  Client a = open(seen_by_a_.url());
  const Lease of_a = a.mutex("x", kUnrenewed).try_acquire().value();
  expect_locked_at({0, 1, 2, 3, 4});
  jump({2, 3}, kPastTtl);
  Client b = open(seen_by_b_.url());
  EXPECT_FALSE(b.mutex("x", kUnrenewed).try_acquire_for(300ms));
  EXPECT_TRUE(of_a.held());
}

// A has no majority to renew on, so it believes until its time is over; when it hears from a node that
// votes for B, it knows that it has lost the lock. B keeps it.
TEST_F(RedlockClocks, TheHolderOfABareMajorityLearnsOfItsLossWhenItRenews) {
  Client a = open(seen_by_a_.url());
  Lease of_a = bare_majority_of_a_ends_at_one_node(a);
  Client b = open(seen_by_b_.url());
  Lease of_b = b.mutex("x", kUnrenewed).try_acquire().value();
  EXPECT_FALSE(of_a.renew());
  EXPECT_TRUE(of_b.renew());
  seen_by_a_.cut_off({3, 4}, false);
  EXPECT_TRUE(eventually([&] {
    EXPECT_FALSE(of_a.renew());
    return !of_a.held();
  }));
  EXPECT_TRUE(of_b.held());
}

// Both believe; a fence tells them apart by their tokens.
TEST_F(RedlockClocks, TheNextTokenIsHigherEvenIfTheNextClientIsYearsBehind) {
  Client a = open(seen_by_a_.url());
  const Lease of_a = bare_majority_of_a_ends_at_one_node(a);
  clock_.jump(-10 * kYear);
  Child b(seen_by_b_.url(), clock_.environment());
  const std::string answer = b.ask(Child::command("try", "x", 30s));
  ASSERT_THAT(answer, StartsWith("granted "));
  EXPECT_EQ(b.ask("held"), "yes");
  EXPECT_TRUE(of_a.held());
  EXPECT_GT(Token(std::stoull(answer.substr(8))), of_a.token());
}

TEST_F(RedlockClocks, ANodeAnHourAheadAndOneAYearBehindDoNotDisturbTheTokens) {
  jump({1}, 1h);
  jump({3}, -kYear);
  Client one = open(url());
  Client two = open(url());
  take_turns(one, two, 20);
}

// Node 3 accepts no token of today; 2 and 4 take 30 ms, and one of them is needed.
TEST_F(RedlockClocks, WhereANodeIsAYearBehindSlowerNodesAreWaitedFor) {
  jump({3}, -kYear);
  Client client = open(seen_by_a_.url());
  take_turns(client, client, 1);
  seen_by_a_.slow_down(2, 30ms);
  seen_by_a_.slow_down(4, 30ms);
  take_turns(client, client, 5);
}

// Within the hour that a node tolerates: one that is further behind gives no vote.
TEST_F(RedlockClocks, TokensGrowWhileTheyJumpToAndFro) {
  Dice dice;
  SCOPED_TRACE(dice.describe());
  Client one = open(url());
  Client two = open(url());
  for (int i = 0; i < 20; ++i) {
    const std::size_t node = dice.below(5);
    const microseconds ahead = std::chrono::minutes(dice.below(101)) - 50min;
    jump({node}, ahead - masters_.at(node).clock().offset());
    take_turns(one, two, 2);
  }
}

TEST_F(RedlockClocks, AClientTenYearsBehindGetsHigherTokensAllTheSame) {
  take_turns_with_a_process(-10 * kYear);
}

TEST_F(RedlockClocks, AClientTenYearsAheadDoesNotTakeTheTokensWithIt) {
  take_turns_with_a_process(10 * kYear);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto limit = std::chrono::duration_cast<microseconds>(now + 2h).count();
  EXPECT_LT(last_, Token(static_cast<std::uint64_t>(limit)));
}

}  // namespace
}  // namespace holdfast::redlock_tests
