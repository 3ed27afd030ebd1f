// Rows 8 and 9: a node forgets what it had, or comes back with it.
#include "scenario_testing.h"

namespace holdfast::scenarios {
namespace {

// A ttl whose end a test can wait for.
constexpr LockOptions kBrief{.ttl = 800ms, .auto_renew = false};

// A holds nodes 1, 2 and 3 only, then something befalls node 3, the one that B will ask, too.
class RestartTest : public testing::Test {
 protected:
  explicit RestartTest(test::RedisOptions options = {}) : nodes_(5, std::move(options)) {}

  // The longest ttl that anybody ever uses is that of `options`.
  Lease taken_by_a_on_a_bare_majority(const LockOptions& options = kUnrenewed) {
    break_in(nodes_, options);
    // Before the failure both have seen all nodes.
    EXPECT_TRUE(a_.mutex("x", options).try_acquire());
    EXPECT_TRUE(b_.mutex("x", options).try_acquire_for(5s));
    seen_by_a_.cut_off({4, 5});
    seen_by_b_.cut_off({1, 2});
    return a_.mutex("x", options).try_acquire_for(5s).value();
  }

  Verdict verdict(const Lease& of_a, const Result<Lease>& of_b) {
    return judge_.judge(Judge::worker(of_a), Judge::worker(of_b));
  }

  Nodes nodes_;
  View seen_by_a_{nodes_};
  View seen_by_b_{nodes_};
  Client a_ = open(seen_by_a_.url());
  Client b_ = open(seen_by_b_.url());
  Judge judge_;
};

class DurableRestartTest : public RestartTest {
 protected:
  DurableRestartTest() : RestartTest({.durable = true}) {}
};

// Row 8.
// given  A holds nodes 1, 2 and 3
// when   node 3 crashes and comes back empty, and B asks 3, 4 and 5
// then   node 3 has no vote, because nobody can tell what it forgot: busy
TEST_F(RestartTest, ANodeThatComesBackEmptyDoesNotVoteWhileTheHolderBelieves) {
  const Lease of_a = taken_by_a_on_a_bare_majority();
  nodes_[3].restart();
  const Result<Lease> of_b = b_.mutex("x", kUnrenewed).try_acquire_for(500ms);
  EXPECT_FALSE(of_b);
  EXPECT_EQ(verdict(of_a, of_b), kSafe);
}

// Row 8, and whoever wipes a node while it runs has done the same.
TEST_F(RestartTest, ANodeThatWasFlushedDoesNotVoteEither) {
  const Lease of_a = taken_by_a_on_a_bare_majority();
  nodes_[3].command({"FLUSHALL"});
  const Result<Lease> of_b = b_.mutex("x", kUnrenewed).try_acquire_for(500ms);
  EXPECT_FALSE(of_b);
  EXPECT_EQ(verdict(of_a, of_b), kSafe);
}

// Row 8, a client that was not there before: it cannot know from memory that node 3 was full.
TEST_F(RestartTest, AClientThatNeverSawTheNodeIsNotFooledByIt) {
  const Lease of_a = taken_by_a_on_a_bare_majority();
  nodes_[3].restart();
  Client newcomer = open(seen_by_b_.url());
  const Result<Lease> of_newcomer = newcomer.mutex("x", kUnrenewed).try_acquire_for(500ms);
  EXPECT_FALSE(of_newcomer);
  EXPECT_EQ(verdict(of_a, of_newcomer), kSafe);
}

// Row 9, first half.
// given  A holds nodes 1, 2 and 3, which flush each write before they answer
// when   node 3 crashes and comes back, and B asks 3, 4 and 5
// then   node 3 remembers A: busy; after A's release B gets the lock, with node 3's vote
TEST_F(DurableRestartTest, ANodeThatFlushesItsWritesComesBackWithThem) {
  Lease of_a = taken_by_a_on_a_bare_majority();
  nodes_[3].restart();
  const Result<Lease> refused = b_.mutex("x", kUnrenewed).try_acquire_for(300ms);
  EXPECT_FALSE(refused);
  EXPECT_EQ(verdict(of_a, refused), kSafe);

  const Token before = of_a.token();
  EXPECT_TRUE(of_a.release());
  const Result<Lease> of_b = b_.mutex("x", kUnrenewed).try_acquire_for(10s);
  ASSERT_EQ(told(of_b), "granted");
  EXPECT_GT(of_b->token(), before);
}

// Row 9, second half.
// given  A holds nodes 1, 2 and 3, and nobody flushes anything
// when   node 3 crashes and stays away until A cannot believe any more, and B asks 3, 4 and 5
// then   there is never more than one holder
TEST_F(RestartTest, ANodeThatStaysAwayForTheLongestTtlDoesNoHarm) {
  const Lease of_a = taken_by_a_on_a_bare_majority(kBrief);
  nodes_[3].kill();
  EXPECT_FALSE(b_.mutex("x", kBrief).try_acquire());
  pause_for(kBrief.ttl + 100ms);
  nodes_[3].restart();
  EXPECT_FALSE(of_a.held());
  const Result<Lease> of_b = b_.mutex("x", kBrief).try_acquire_for(300ms);
  EXPECT_EQ(verdict(of_a, of_b), kSafe);
}

// Row 8, the way back.
// given  node 3 came back empty, and is wanted: 1 and 2 are out of B's reach
// when   a client that reaches all nodes goes on working
// then   node 3 is let in again, but not before the longest ttl is over, and B gets the lock with
//        its vote; tokens go on growing
TEST_F(RestartTest, ANodeThatComesBackEmptyVotesAgainAfterTheLongestTtl) {
  break_in(nodes_, kBrief);
  seen_by_b_.cut_off({1, 2});
  EXPECT_TRUE(b_.mutex("x", kBrief).try_acquire_for(5s));
  nodes_[3].restart();
  const BootTime wiped = BootClock::now();
  Token last;
  const bool back = eventually([&] {
    {
      const Result<Lease> of_a = a_.mutex("x", kBrief).try_acquire_for(5s);
      EXPECT_EQ(told(of_a), "granted");
      EXPECT_GT(of_a->token(), last);
      last = of_a->token();
    }
    const Result<Lease> of_b = b_.mutex("x", kBrief).try_acquire();
    if (!of_b) return false;
    EXPECT_GT(of_b->token(), last);
    return true;
  });
  EXPECT_TRUE(back);
  EXPECT_GE(BootClock::now() - wiped, kBrief.ttl);
}

// Rows 4 and 8 together: two faults at one node. Its silence is counted by its own clock.
// given  A holds nodes 1, 2 and 3; node 3 came back empty and is silent
// when   its clock jumps past the longest ttl while a client that reaches all nodes lets it in
// then   B gets 3, 4 and 5, and both believe; the node has learnt the tokens from the others before
//        it voted, so the fence prevents harm
TEST_F(RestartTest, ASilenceCutShortByTheClockBreaksExclusionAndTheFencePreventsHarm) {
  const Lease of_a = taken_by_a_on_a_bare_majority();
  nodes_[3].restart();
  Client helper = open(nodes_.url());
  std::optional<Lease> of_b;
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(helper.mutex("something else").try_acquire_for(5s));
    nodes_.jump_clocks({3}, kPastTtl);
    Result<Lease> lease = b_.mutex("x", kUnrenewed).try_acquire();
    if (lease) of_b = std::move(lease).value();
    return of_b.has_value();
  }));
  ASSERT_TRUE(of_b);
  EXPECT_GT(of_b->token(), of_a.token());
  EXPECT_EQ(judge_.judge(Judge::worker(of_a), Judge::worker(*of_b)),
            kOverlapWithoutHarmToTheFenced);
}

// Row 8, again and again: never more than one node at a time has forgotten its tokens.
TEST_F(RestartTest, TokensGrowWhileOneNodeAfterTheOtherForgetsEverything) {
  Dice dice;
  SCOPED_TRACE(dice.describe());
  break_in(nodes_, kBrief);
  Token last;
  for (int round = 0; round < 3; ++round) {
    const int victim = 1 + static_cast<int>(dice.below(5));
    nodes_[victim].restart();
    const BootTime wiped = BootClock::now();
    while (BootClock::now() - wiped < 2 * kBrief.ttl) {
      const Result<Lease> lease = (dice.below(2) == 0 ? a_ : b_).mutex("x", kBrief).acquire();
      ASSERT_EQ(told(lease), "granted");
      EXPECT_GT(lease->token(), last);
      last = lease->token();
    }
  }
}

// Row 8 on one node.
// given  A holds the lock of a single Redis that keeps nothing on disk
// when   it crashes and comes back empty, and B asks
// then   both believe; the fence prevents harm because tokens begin at the server's clock, not at 1
TEST(SingleNodeRestartTest, AnEmptyServerBreaksExclusionAndTheFencePreventsHarm) {
  RedisServer server;
  Client a = open(server.url());
  Client b = open(server.url());
  const Lease of_a = a.mutex("x", kUnrenewed).try_acquire().value();
  server.restart();
  const Result<Lease> of_b = b.mutex("x", kUnrenewed).try_acquire_for(5s);
  ASSERT_EQ(told(of_b), "granted");
  EXPECT_GT(of_b->token(), of_a.token());
  Judge judge;
  EXPECT_EQ(judge.judge(Judge::worker(of_a), Judge::worker(of_b)), kOverlapWithoutHarmToTheFenced);
}

// Row 8 on one node whose clock is set back as well: then tokens regress.
// then   the fence admits A, whose token is higher, and shuts the new holder out; no update is lost
TEST(SingleNodeRestartTest, WithItsClockSetBackTheNewHolderIsShutOutAndNothingIsLost) {
  RedisServer server({.movable_clock = true});
  Client a = open(server.url());
  Client b = open(server.url());
  const Lease of_a = a.mutex("x", kUnrenewed).try_acquire().value();
  server.clock().jump(-1h);
  server.restart();
  const Result<Lease> of_b = b.mutex("x", kUnrenewed).try_acquire_for(5s);
  ASSERT_EQ(told(of_b), "granted");
  EXPECT_LT(of_b->token(), of_a.token());
  Judge judge;
  EXPECT_EQ(judge.judge(Judge::worker(of_a), Judge::worker(of_b)), kOverlapWithoutHarmToTheFenced);
}

// Row 9 on one node.
TEST(SingleNodeRestartTest, AServerThatFlushesItsWritesComesBackWithThem) {
  RedisServer server({.durable = true});
  Client a = open(server.url());
  Client b = open(server.url());
  const Lease of_a = a.mutex("x", kUnrenewed).try_acquire().value();
  server.restart();
  const Result<Lease> of_b = b.mutex("x", kUnrenewed).try_acquire_for(300ms);
  EXPECT_FALSE(of_b);
  Judge judge;
  EXPECT_EQ(judge.judge(Judge::worker(of_a), Judge::worker(of_b)), kSafe);
}

}  // namespace
}  // namespace holdfast::scenarios
