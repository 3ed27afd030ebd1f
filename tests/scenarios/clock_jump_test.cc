// Rows 4, 5 and 6: the wall clocks of nodes jump ahead, and their words end early.
#include "scenario_testing.h"

namespace holdfast::scenarios {
namespace {

class ClockJumpTest : public testing::Test {
 protected:
  void SetUp() override { break_in(nodes_); }

  Nodes nodes_;
  View seen_by_a_{nodes_};
  View seen_by_b_{nodes_};
  Judge judge_;
};

// Row 4.
// given  A holds nodes 1, 2 and 3; 4 and 5 were out of its reach
// when   the clock of node 3 jumps past the ttl, and B asks 3, 4 and 5
// then   both believe; without a fence an update is lost, with one none is
TEST_F(ClockJumpTest, OneClockBreaksExclusionOfABareMajorityAndTheFencePreventsHarm) {
  seen_by_a_.cut_off({4, 5});
  Client a = open(seen_by_a_.url());
  const Lease of_a = a.mutex("x", kUnrenewed).try_acquire().value();
  expect_locked_at(nodes_, {1, 2, 3});

  nodes_.jump_clocks({3}, kPastTtl);
  seen_by_b_.cut_off({1, 2});
  Client b = open(seen_by_b_.url());
  const Result<Lease> of_b = b.mutex("x", kUnrenewed).try_acquire();

  ASSERT_EQ(told(of_b), "granted");
  EXPECT_GT(of_b->token(), of_a.token());
  EXPECT_EQ(judge_.judge(Judge::worker(of_a), Judge::worker(of_b)), kOverlapWithoutHarmToTheFenced);
}

// Row 4, and the holder asks.
// given  the overlap of row 4
// when   A renews, first with 4 and 5 still out of its reach, then with all nodes
// then   it has no majority to renew on, so it believes until its time is over; as soon as it hears
//        from 4 or 5 it knows that it has lost the lock. B keeps it
TEST_F(ClockJumpTest, TheHolderLearnsOfItsLossWhenItRenews) {
  seen_by_a_.cut_off({4, 5});
  Client a = open(seen_by_a_.url());
  Lease of_a = a.mutex("x", kUnrenewed).try_acquire().value();
  nodes_.jump_clocks({3}, kPastTtl);
  seen_by_b_.cut_off({1, 2});
  Client b = open(seen_by_b_.url());
  Lease of_b = b.mutex("x", kUnrenewed).try_acquire().value();

  EXPECT_FALSE(of_a.renew());
  EXPECT_TRUE(of_b.renew());
  seen_by_a_.reach({4, 5});
  EXPECT_TRUE(eventually([&] {
    EXPECT_FALSE(of_a.renew());
    return !of_a.held();
  }));
  EXPECT_EQ(judge_.judge(Judge::worker(of_a), Judge::worker(of_b)), kSafe);
}

// Row 5.
// given  A holds all five nodes
// when   the clock of node 3 jumps past the ttl, and B asks 3, 4 and 5
// then   B gets one vote of five, which is not enough
TEST_F(ClockJumpTest, OneClockIsNotEnoughWhenTheHolderHasAllNodes) {
  Client a = open(seen_by_a_.url());
  const Lease of_a = a.mutex("x", kUnrenewed).try_acquire().value();
  expect_locked_at(nodes_, {1, 2, 3, 4, 5});

  nodes_.jump_clocks({3}, kPastTtl);
  seen_by_b_.cut_off({1, 2});
  Client b = open(seen_by_b_.url());
  const Result<Lease> of_b = b.mutex("x", kUnrenewed).try_acquire();

  EXPECT_FALSE(of_b);
  EXPECT_EQ(judge_.judge(Judge::worker(of_a), Judge::worker(of_b)), kSafe);
}

// Row 5 with two clocks, and B reaches everybody: still one vote short.
TEST_F(ClockJumpTest, TwoClocksAreNotEnoughEither) {
  Client a = open(seen_by_a_.url());
  const Lease of_a = a.mutex("x", kUnrenewed).try_acquire().value();
  expect_locked_at(nodes_, {1, 2, 3, 4, 5});

  nodes_.jump_clocks({3, 4}, kPastTtl);
  Client b = open(seen_by_b_.url());
  const Result<Lease> of_b = b.mutex("x", kUnrenewed).try_acquire_for(300ms);

  EXPECT_FALSE(of_b);
  EXPECT_EQ(judge_.judge(Judge::worker(of_a), Judge::worker(of_b)), kSafe);
}

// Row 6.
// given  A holds all five nodes
// when   three clocks jump past the ttl together (a bad time server), and B asks all
// then   both believe; without a fence an update is lost, with one none is
TEST_F(ClockJumpTest, ThreeClocksTogetherBreakExclusionAndTheFencePreventsHarm) {
  Client a = open(seen_by_a_.url());
  const Lease of_a = a.mutex("x", kUnrenewed).try_acquire().value();
  expect_locked_at(nodes_, {1, 2, 3, 4, 5});

  nodes_.jump_clocks({1, 3, 5}, kPastTtl);
  Client b = open(seen_by_b_.url());
  const Result<Lease> of_b = b.mutex("x", kUnrenewed).try_acquire();

  ASSERT_EQ(told(of_b), "granted");
  EXPECT_GT(of_b->token(), of_a.token());
  EXPECT_EQ(judge_.judge(Judge::worker(of_a), Judge::worker(of_b)), kOverlapWithoutHarmToTheFenced);
}

// Row 4 on one node.
// given  A holds the lock of a single Redis
// when   its clock jumps past the ttl, and B asks
// then   both believe; without a fence an update is lost, with one none is
TEST(SingleNodeClockJumpTest, TheClockBreaksExclusionAndTheFencePreventsHarm) {
  RedisServer server({.movable_clock = true});
  Client a = open(server.url());
  Client b = open(server.url());
  const Lease of_a = a.mutex("x", kUnrenewed).try_acquire().value();
  EXPECT_FALSE(b.mutex("x", kUnrenewed).try_acquire());

  server.clock().jump(kPastTtl);
  const Result<Lease> of_b = b.mutex("x", kUnrenewed).try_acquire();

  ASSERT_EQ(told(of_b), "granted");
  EXPECT_GT(of_b->token(), of_a.token());
  Judge judge;
  EXPECT_EQ(judge.judge(Judge::worker(of_a), Judge::worker(of_b)), kOverlapWithoutHarmToTheFenced);
}

}  // namespace
}  // namespace holdfast::scenarios
