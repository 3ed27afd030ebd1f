// Clocks that are wrong all the time, at nodes and at clients. Tokens need no clock to be unique
// and to grow: a clock only chooses where they begin.
#include "child.h"
#include "movable_clock.h"
#include "scenario_testing.h"
#include "temp_dir.h"

namespace holdfast::scenarios {
namespace {

using contract::Child;

constexpr std::chrono::microseconds kYear = 24h * 365;

class SkewTest : public testing::Test {
 protected:
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
  void take_turns_with_a_process(std::chrono::microseconds ahead) {
    const test::TempDir directory;
    test::MovableClock clock(directory.path() / "clock");
    clock.jump(ahead);
    Child child(nodes_.url(), clock.environment());
    Client client = open(nodes_.url());
    for (int i = 0; i < 6; ++i) {
      const std::string answer = child.ask(Child::command("acquire", "x", 30s));
      ASSERT_THAT(answer, testing::StartsWith("granted "));
      expect_next(Token(std::stoull(answer.substr(8))));
      EXPECT_EQ(child.ask("held"), "yes");
      EXPECT_FALSE(client.mutex("x").try_acquire());
      EXPECT_EQ(child.ask("release"), "ok");
      take_turns(client, client, 1);
    }
  }

  Nodes nodes_;
  Token last_;
};

TEST_F(SkewTest, ANodeAnHourAheadAndOneAYearBehindDoNotDisturbTheTokens) {
  nodes_.jump_clocks({2}, 1h);
  nodes_.jump_clocks({4}, -kYear);
  Client one = open(nodes_.url());
  Client two = open(nodes_.url());
  take_turns(one, two, 20);
}

// given  node 4 is a year behind, so that it accepts no token of today; 3 and 5 take 30 ms
// when   a client asks, and 1, 2 and 4 are locked at once
// then   it waits for 3 and 5, of which one is needed
TEST_F(SkewTest, WhereANodeIsAYearBehindSlowerNodesAreWaitedFor) {
  break_in(nodes_);
  nodes_.jump_clocks({4}, -kYear);
  View view(nodes_);
  Client client = open(view.url());
  take_turns(client, client, 1);
  view.slow_down(3, 30ms);
  view.slow_down(5, 30ms);
  take_turns(client, client, 5);
}

// Within the hour that a node tolerates: one that is further behind gives no vote.
TEST_F(SkewTest, TokensGrowWhileClocksJumpToAndFro) {
  Dice dice;
  SCOPED_TRACE(dice.describe());
  Client one = open(nodes_.url());
  Client two = open(nodes_.url());
  for (int i = 0; i < 20; ++i) {
    const int number = 1 + static_cast<int>(dice.below(5));
    const std::chrono::microseconds ahead = std::chrono::minutes(dice.below(101)) - 50min;
    nodes_.jump_clocks({number}, ahead - nodes_[number].clock().offset());
    take_turns(one, two, 2);
  }
}

TEST_F(SkewTest, AClientWhoseClockIsTenYearsBehindGetsHigherTokensAllTheSame) {
  take_turns_with_a_process(-10 * kYear);
}

TEST_F(SkewTest, AClientWhoseClockIsTenYearsAheadDoesNotTakeTheTokensWithIt) {
  take_turns_with_a_process(10 * kYear);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto limit = std::chrono::duration_cast<std::chrono::microseconds>(now + 2h).count();
  EXPECT_LT(last_, Token(static_cast<std::uint64_t>(limit)));
}

// Row 4 again, with a second client whose clock alone would give it the lower token.
// given  A holds nodes 1, 2 and 3; the clock of node 3 jumps
// when   a client whose clock is ten years behind gets 3, 4 and 5
// then   its token is higher than A's all the same, and the fence prevents harm
TEST_F(SkewTest, AfterAClockJumpTheFenceHoldsEvenIfTheNextClientIsYearsBehind) {
  break_in(nodes_);
  View seen_by_a(nodes_);
  seen_by_a.cut_off({4, 5});
  Client a = open(seen_by_a.url());
  const Lease of_a = a.mutex("x", kUnrenewed).try_acquire().value();
  nodes_.jump_clocks({3}, kPastTtl);

  const test::TempDir directory;
  test::MovableClock clock(directory.path() / "clock");
  clock.jump(-10 * kYear);
  View seen_by_b(nodes_);
  seen_by_b.cut_off({1, 2});
  Child b(seen_by_b.url(), clock.environment());
  const std::string answer = b.ask(Child::command("try", "x", 30s));
  ASSERT_THAT(answer, testing::StartsWith("granted "));
  const Judge::Worker worker{.held = [&] { return b.ask("held") == "yes"; },
                             .token = Token(std::stoull(answer.substr(8)))};

  EXPECT_GT(worker.token, of_a.token());
  Judge judge;
  EXPECT_EQ(judge.judge(Judge::worker(of_a), worker), kOverlapWithoutHarmToTheFenced);
}

}  // namespace
}  // namespace holdfast::scenarios
