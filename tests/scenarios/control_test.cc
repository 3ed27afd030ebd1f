// The scenarios on Redlock as it is usually made: do they bite? Rows 4, 5, 6, 8 and 9.
#include "classic_redlock.h"
#include "scenario_testing.h"

namespace holdfast::scenarios {
namespace {

constexpr Verdict kHarmInSpiteOfTheFence{
    .overlap = true, .harm_without_fence = true, .harm_with_fence = true};

class ClassicRedlockTest : public testing::Test {
 protected:
  // B asks, and the judge compares it with A.
  Verdict verdict(const Judge::Worker& of_a) {
    const auto of_b = b_.try_lock("x", kUnrenewed.ttl);
    return judge_.judge(of_a, of_b.value_or(Judge::worker(Failure(Code::busy, ""))));
  }
  std::optional<Judge::Worker> taken_by_a() { return a_.try_lock("x", kUnrenewed.ttl); }

  void each_has_a_bare_majority() {
    seen_by_a_.cut_off({4, 5});
    seen_by_b_.cut_off({1, 2});
  }

  Nodes nodes_;
  View seen_by_a_{nodes_};
  View seen_by_b_{nodes_};
  ClassicRedlock a_{seen_by_a_.ports(), "A"};
  ClassicRedlock b_{seen_by_b_.ports(), "B"};
  Judge judge_;
};

TEST_F(ClassicRedlockTest, WithoutAFaultThereIsOneHolder) {
  const auto of_a = taken_by_a();
  ASSERT_TRUE(of_a);
  EXPECT_EQ(verdict(*of_a), kSafe);
}

// Row 4. With a counter per node, both tokens are 2: node 3 has counted twice, but so has node 1.
TEST_F(ClassicRedlockTest, OneClockBreaksABareMajorityAndItsTokensRepeat) {
  seen_by_a_.cut_off({2, 3, 4, 5});
  EXPECT_FALSE(taken_by_a());  // Node 1 counts this one; the others know nothing of it.
  seen_by_a_.reach({2, 3});
  each_has_a_bare_majority();
  const auto of_a = taken_by_a();
  ASSERT_TRUE(of_a);
  nodes_.jump_clocks({3}, kPastTtl);
  EXPECT_EQ(verdict(*of_a), kHarmInSpiteOfTheFence);
}

// Row 5.
TEST_F(ClassicRedlockTest, OneClockIsNotEnoughWhenTheHolderHasAllNodes) {
  const auto of_a = taken_by_a();
  ASSERT_TRUE(of_a);
  nodes_.jump_clocks({3}, kPastTtl);
  EXPECT_EQ(verdict(*of_a), kSafe);
}

// Row 6.
TEST_F(ClassicRedlockTest, ThreeClocksTogetherBreakExclusion) {
  const auto of_a = taken_by_a();
  ASSERT_TRUE(of_a);
  nodes_.jump_clocks({1, 3, 5}, kPastTtl);
  EXPECT_EQ(verdict(*of_a), kOverlapWithoutHarmToTheFenced);
}

// Row 8.
TEST_F(ClassicRedlockTest, ANodeThatComesBackEmptyBreaksExclusionAndTheFence) {
  each_has_a_bare_majority();
  const auto of_a = taken_by_a();
  ASSERT_TRUE(of_a);
  nodes_[3].restart();
  EXPECT_EQ(verdict(*of_a), kHarmInSpiteOfTheFence);
}

// Row 9.
TEST(DurableClassicRedlockTest, ANodeThatFlushesItsWritesComesBackWithThem) {
  Nodes nodes(5, {.durable = true});
  View seen_by_a(nodes);
  View seen_by_b(nodes);
  seen_by_a.cut_off({4, 5});
  seen_by_b.cut_off({1, 2});
  ASSERT_TRUE(ClassicRedlock(seen_by_a.ports(), "A").try_lock("x", 30s));
  nodes[3].restart();
  EXPECT_FALSE(ClassicRedlock(seen_by_b.ports(), "B").try_lock("x", 30s));
}

}  // namespace
}  // namespace holdfast::scenarios
