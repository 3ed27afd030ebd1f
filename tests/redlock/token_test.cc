// Tokens: unique, growing, and above all that the nodes have accepted, whatever the clocks say.
#include "redlock_testing.h"

namespace holdfast::redlock_tests {
namespace {

constexpr const char* kSomebody = " 00112233445566778899aabbccddeeff";

class RedlockToken : public RedlockOfThree {
 protected:
  static std::uint64_t in(std::chrono::minutes ahead) {
    const auto moment = std::chrono::system_clock::now() + ahead;
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(moment.time_since_epoch()).count());
  }
  void set_fence(std::size_t node, std::uint64_t token, const std::string& name = "x") {
    at(node).command({"SET", "{" + name + "}:hf:r", std::to_string(token) + kSomebody});
  }
  // After this nothing is under way any more, answers that nobody waited for included.
  void drain() {
    for (int i = 0; i < 2; ++i) {
      for (Client* client : {&client_, &other_}) {
        ASSERT_EQ(told(client->inspect("warm")), "granted");
      }
    }
  }
  void count_from_here() {
    drain();
    for (std::size_t node = 0; node < 3; ++node) ASSERT_EQ(at(node).commands_sent(), 0);
  }
  // At the node that got most.
  long long most_commands() {
    long long most = 0;
    for (std::size_t node = 0; node < 3; ++node) most = std::max(most, at(node).commands_sent());
    return most;
  }
  std::string fence(std::size_t node) { return at(node).command({"GET", kFence}); }
};

TEST_F(RedlockToken, IsTheNodesAcceptedOne) {
  for (int i = 0; i < 20; ++i) {
    const Result<Lease> lease =
        (i % 2 == 0 ? client_ : other_).mutex("x", kLong).try_acquire_for(1s);
    ASSERT_EQ(told(lease), "granted");
    std::size_t accepted = 0;
    for (std::size_t node = 0; node < 3; ++node) {
      if (fence(node).starts_with(lease->token().str() + " ")) ++accepted;
    }
    EXPECT_GE(accepted, 2U);
    EXPECT_EQ(visible_token(other_, "x"), lease->token().value());
  }
}

// A lock that nobody else wants costs each node one command, and its release one more. (A node that
// was not waited for may get a second release: nobody knew yet that its vote had been given.)
TEST_F(RedlockToken, IsHadInOneRoundTrip) {
  count_from_here();
  Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  for (std::size_t node = 0; node < 3; ++node) EXPECT_EQ(at(node).commands_sent(), 1);
  ASSERT_EQ(told(lease->release()), "granted");
  EXPECT_TRUE(eventually([&] { return nodes_with(kWord) == 0; }));
  long long total = 0;
  for (std::size_t node = 0; node < 3; ++node) total += at(node).commands_sent();
  EXPECT_GE(total, 6);
  EXPECT_LE(total, 7);
}

// The first times, scripts have to be loaded, and not by all nodes at the same time.
TEST_F(RedlockToken, IsHadInTwoRoundTripsWhereTheNodesAreAhead) {
  const std::uint64_t ahead = in(10min);
  count_from_here();
  std::vector<long long> costs;
  for (int i = 0; i < 10; ++i) {
    const std::string name = "x" + std::to_string(i);
    for (std::size_t node = 0; node < 3; ++node) set_fence(node, ahead + node, name);
    const long long before = most_commands();
    Result<Lease> lease = client_.mutex(name, kLong).try_acquire();
    ASSERT_EQ(told(lease), "granted");
    EXPECT_GT(lease->token().value(), ahead + 1) << "a majority had accepted this one";
    costs.push_back(most_commands() - before);
    ASSERT_EQ(told(lease->release()), "granted");
    drain();
  }
  EXPECT_THAT(costs, Contains(testing::Le(2)));
}

TEST_F(RedlockToken, IsHadInOneRoundTripByWhoKnowsThatTheNodesAreAhead) {
  for (std::size_t node = 0; node < 3; ++node) set_fence(node, in(10min));
  Token last;
  std::vector<long long> costs;
  count_from_here();
  for (int i = 0; i < 5; ++i) {
    const long long before = most_commands();
    Result<Lease> lease = client_.mutex("x", kLong).try_acquire_for(1s);
    ASSERT_EQ(told(lease), "granted");
    EXPECT_GT(lease->token(), last);
    last = lease->token();
    costs.push_back(most_commands() - before);
    ASSERT_EQ(told(lease->release()), "granted");
    EXPECT_TRUE(eventually([&] { return nodes_with(kWord) == 0; }));
    drain();
  }
  EXPECT_GT(costs.front(), 1) << "nobody could know that";
  EXPECT_THAT(costs, Contains(1));
}

TEST_F(RedlockToken, IsAboveAMinoritysThatIsAhead) {
  set_fence(0, in(10min));
  const Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  EXPECT_EQ(outcome_of(other_.mutex("x", kLong).try_acquire()), "busy");
}

TEST_F(RedlockToken, IsGrantedWhereOneNodeIsHoursAhead) {
  Token last;
  set_fence(1, in(24h));
  for (int i = 0; i < 3; ++i) {
    const Result<Lease> lease =
        (i % 2 == 0 ? client_ : other_).mutex("x", kLong).try_acquire_for(1s);
    ASSERT_EQ(told(lease), "granted");
    EXPECT_GT(lease->token(), last);
    EXPECT_LT(lease->token().value(), in(2h)) << "one node must not drive the numbers up";
    last = lease->token();
  }
}

TEST_F(RedlockToken, IsAboveAMajoritysThatIsHoursAhead) {
  set_fence(0, in(24h));
  set_fence(1, in(24h));
  const Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  EXPECT_GT(lease->token().value(), in(23h));
}

TEST_F(RedlockToken, AFenceThatIsNoNumberIsNamedAndStrandsNothing) {
  at_all({"SET", kFence, "soon"});
  const std::string said = told(client_.mutex("x", kLong).try_acquire());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("the key of the lock's tokens holds something else"));
  EXPECT_TRUE(eventually([&] { return nodes_with(kWord) == 0; })) << "a vote is stranded";
  at_all({"DEL", kFence});
  expect_free_soon(client_, "x", 1s);
}

TEST_F(RedlockToken, AFenceOfAnotherTypeIsNamedAndStrandsNothing) {
  at_all({"LPUSH", kFence, "a"});
  const std::string said = told(client_.mutex("x", kLong).try_acquire());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("a key of another type"));
  EXPECT_EQ(nodes_with(kWord), 0U);
  at_all({"DEL", kFence});
  expect_free_soon(client_, "x", 1s);
}

}  // namespace
}  // namespace holdfast::redlock_tests
