// Rows 8 and 9: a node forgets what it had, or comes back with it.
#include "scenario_testing.h"

namespace holdfast::scenarios {
namespace {

// A ttl whose end a test can wait for.
constexpr LockOptions kBrief{.ttl = 800ms, .auto_renew = false};
// How long a node is silent that has lost its data: the longest ttl that anybody may use.
constexpr std::chrono::microseconds kSilence = 60s;

// A holds nodes 1, 2 and 3 only, then something befalls node 3, the one that B will ask, too.
class RestartTest : public testing::Test {
 protected:
  explicit RestartTest(test::RedisOptions options = {}) : nodes_(5, std::move(options)) {}

  Lease taken_by_a_on_a_bare_majority(const LockOptions& options = kUnrenewed) {
    break_in(nodes_);
    // Before the failure both have seen all nodes.
    EXPECT_TRUE(a_.mutex("x", options).try_acquire_for(5s));
    EXPECT_TRUE(b_.mutex("x", options).try_acquire_for(5s));
    expect_locked_at(nodes_, {});
    seen_by_a_.cut_off({4, 5});
    seen_by_b_.cut_off({1, 2});
    Lease of_a = a_.mutex("x", options).try_acquire_for(5s).value();
    expect_locked_at(nodes_, {1, 2, 3});
    return of_a;
  }

  // What node `number` says of its part: "joining …" while it is silent.
  std::string part_of(int number) { return nodes_[number].command({"GET", "holdfast:redlock"}); }

  // Works on with a client that reaches all nodes, as any client does that looks after them, until
  // the node that has lost its data is silent.
  void let_it_be_silent(int number, Client& client) {
    EXPECT_TRUE(eventually([&] {
      EXPECT_TRUE(client.mutex("something else").try_acquire_for(5s));
      pause_for(20ms);
      return part_of(number).starts_with("joining");
    })) << part_of(number);
  }
  // The same until it votes again.
  void let_it_vote(int number, Client& client) {
    EXPECT_TRUE(eventually([&] {
      EXPECT_TRUE(client.mutex("something else").try_acquire_for(5s));
      pause_for(20ms);
      return !part_of(number).starts_with("joining");
    })) << part_of(number);
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
// then   node 3 has no vote, because nobody can tell what it forgot: B has two of five
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
// then   node 3 has no vote, though it remembers A: nobody can tell that it has forgotten nothing.
//        After A's release and the silence B gets the lock, with node 3's vote
TEST_F(DurableRestartTest, ANodeThatFlushesItsWritesComesBackWithThem) {
  Lease of_a = taken_by_a_on_a_bare_majority();
  nodes_[3].restart();
  const Result<Lease> refused = b_.mutex("x", kUnrenewed).try_acquire_for(300ms);
  EXPECT_FALSE(refused);
  EXPECT_EQ(verdict(of_a, refused), kSafe);

  const Token before = of_a.token();
  EXPECT_TRUE(of_a.release());
  EXPECT_TRUE(eventually([&] {
    EXPECT_FALSE(b_.mutex("x", kUnrenewed).try_acquire());
    return part_of(3).starts_with("joining");
  })) << part_of(3);
  nodes_.jump_clocks({3}, kSilence + 1s);
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

// Row 8, the way back. (Its clock is moved to the end of the silence: a test cannot wait a minute.)
// given  node 3 came back empty; 1 and 2 are out of B's reach
// when   a client that reaches all nodes goes on working
// then   node 3 is silent for a minute; then it votes again, B gets the lock with its vote, and its
//        token is higher than all before
TEST_F(RestartTest, ANodeThatComesBackEmptyVotesAgainAfterTheLongestTtl) {
  break_in(nodes_);
  seen_by_b_.cut_off({1, 2});
  nodes_[3].restart();
  let_it_be_silent(3, a_);
  nodes_.jump_clocks({3}, kSilence - 10s);
  EXPECT_FALSE(b_.mutex("x").try_acquire_for(700ms));

  const Token before = a_.mutex("x").try_acquire_for(5s).value().token();
  nodes_.jump_clocks({3}, 11s);
  let_it_vote(3, a_);
  const Result<Lease> of_b = b_.mutex("x").try_acquire_for(5s);
  ASSERT_EQ(told(of_b), "granted");
  EXPECT_GT(of_b->token(), before);
}

// Row 8 with a ttl that is longer than the usual silence. A sets it on nodes 1, 2 and 3 alone.
// then   node 3 is silent for that ttl: the nodes that tell it so include 1 or 2
TEST_F(RestartTest, TheSilenceIsAsLongAsTheLongestTtlThatAnybodyUsed) {
  const LockOptions lasting{.ttl = 10min, .auto_renew = false};
  const Lease of_a = taken_by_a_on_a_bare_majority(lasting);
  nodes_[3].restart();
  View seen_by_helper(nodes_);
  seen_by_helper.cut_off({2});
  Client helper = open(seen_by_helper.url());
  const auto works_on = [&] {  // Of the others it reaches three: just enough.
    static_cast<void>(helper.mutex("something else").try_acquire());
    return part_of(3).starts_with("joining");
  };
  EXPECT_TRUE(eventually(works_on)) << part_of(3);
  nodes_.jump_clocks({3}, 9min);
  for (int i = 0; i < 30; ++i) {
    EXPECT_TRUE(works_on()) << part_of(3);
    pause_for(20ms);
  }
  const Result<Lease> of_b = b_.mutex("x", lasting).try_acquire();
  EXPECT_EQ(verdict(of_a, of_b), kSafe);
}

// Rows 4 and 8 together: two faults at one node. Its silence is counted by its own clock.
// given  A holds nodes 1, 2 and 3; node 3 came back empty and is silent
// when   its clock jumps to the end of the silence, and a client that reaches all nodes lets it in
// then   B gets 3, 4 and 5, and both believe; the node has learnt the tokens from the others before
//        it voted, so the fence prevents harm
TEST_F(RestartTest, ASilenceCutShortByTheClockBreaksExclusionAndTheFencePreventsHarm) {
  const Lease of_a = taken_by_a_on_a_bare_majority();
  nodes_[3].restart();
  Client helper = open(nodes_.url());
  let_it_be_silent(3, helper);
  EXPECT_FALSE(b_.mutex("x", kUnrenewed).try_acquire());
  nodes_.jump_clocks({3}, kSilence + 1s);
  let_it_vote(3, helper);
  const Result<Lease> of_b = b_.mutex("x", kUnrenewed).try_acquire_for(5s);
  ASSERT_EQ(told(of_b), "granted");
  EXPECT_GT(of_b->token(), of_a.token());
  EXPECT_EQ(verdict(of_a, of_b), kOverlapWithoutHarmToTheFenced);
}

// Row 8, again and again: all nodes have lost their data once, never more than one at a time.
TEST_F(RestartTest, TokensGrowWhileOneNodeAfterTheOtherForgetsEverything) {
  break_in(nodes_);
  Token last;
  const auto expect_next = [&](Client& client) {
    const Result<Lease> lease = client.mutex("x", kUnrenewed).try_acquire_for(5s);
    ASSERT_EQ(told(lease), "granted");
    EXPECT_GT(lease->token(), last);
    last = lease->token();
  };
  for (int victim = 1; victim <= nodes_.count(); ++victim) {
    expect_next(a_);
    nodes_[victim].restart();
    expect_next(b_);
    let_it_be_silent(victim, a_);
    expect_next(a_);
    nodes_.jump_clocks({victim}, kSilence + 1s);
    let_it_vote(victim, b_);
    expect_next(b_);
  }
}

// Row 8 at the very beginning: nodes 4 and 5 have never been used.
// given  A is the first client of all, reaches nodes 1, 2 and 3 only, and holds them
// when   node 3 crashes and comes back empty, and B asks 3, 4 and 5
// then   B must not take three empty nodes for new ones
TEST_F(RestartTest, AnEmptyNodeAndTwoThatWereNeverUsedAreNotTakenForNewOnes) {
  seen_by_a_.cut_off({4, 5});
  const Result<Lease> of_a = a_.mutex("x", kUnrenewed).try_acquire_for(500ms);
  nodes_[3].restart();
  seen_by_b_.cut_off({1, 2});
  const Result<Lease> of_b = b_.mutex("x", kUnrenewed).try_acquire_for(500ms);
  EXPECT_EQ(judge_.judge(Judge::worker(of_a), Judge::worker(of_b)), kSafe);
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
