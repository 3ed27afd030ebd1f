// Votes, renewals and releases that a node executed and whose replies were lost: nothing is held
// twice, no token is drawn twice, nothing is stranded.
#include "redlock_testing.h"

namespace holdfast::redlock_tests {
namespace {

// The parameter: at how many of three nodes the replies are lost.
class RedlockLostReplies : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    ASSERT_EQ(told(client_.mutex("warm", kLong).try_acquire()), "granted");
    ASSERT_EQ(told(watcher_.mutex("warm", kLong).try_acquire_for(5s)), "granted");
  }

  // Swallows the next replies of those nodes, and ends the connections once they have answered.
  void lose_replies(const std::function<void()>& call) {
    std::vector<std::int64_t> before;
    for (std::size_t i = 0; i < GetParam(); ++i) {
      nodes_.proxy(i).set(Direction::to_client, ProxyMode::drop);
      before.push_back(nodes_.proxy(i).received(Direction::to_client));
    }
    std::jthread caller(call);
    for (std::size_t i = 0; i < GetParam(); ++i) {
      ASSERT_TRUE(
          eventually([&] { return nodes_.proxy(i).received(Direction::to_client) > before[i]; }));
    }
    for (std::size_t i = 0; i < GetParam(); ++i) {
      nodes_.proxy(i).set(Direction::to_client, ProxyMode::pass);
      nodes_.proxy(i).reset();
    }
  }
  bool gone_everywhere() {
    return eventually([&] {
      for (std::size_t i = 0; i < 3; ++i) {
        if (nodes_.at(i).command({"EXISTS", kWord}) != "0") return false;
      }
      return true;
    });
  }

  ProxiedMasters nodes_;
  Client client_ = open(nodes_.url());
  Client watcher_ = open(nodes_.masters().url());
};

TEST_P(RedlockLostReplies, OfVotesGiveOneHoldOrNone) {
  Result<Lease> lease = Failure(Code::closed, "");
  lose_replies([&] { lease = client_.mutex("x", kLong).try_acquire(); });
  if (GetParam() == 1) {
    ASSERT_EQ(told(lease), "granted") << "two nodes are a majority";
  }
  if (lease) {
    EXPECT_EQ(lease->token().value(), visible_token(watcher_, "x"));
    ASSERT_EQ(told(lease->release()), "granted");
  } else {
    EXPECT_THAT(told(lease), AnyOf(StartsWith("unknown"), StartsWith("unreachable")));
  }
  EXPECT_TRUE(gone_everywhere()) << "a vote is stranded";
  expect_free_soon(watcher_, "x", 0ms);
}

TEST_P(RedlockLostReplies, OfVotesOfAWaiterAreAskedForAgainWithTheSameToken) {
  Result<Lease> lease = Failure(Code::closed, "");
  lose_replies([&] { lease = client_.mutex("x", kLong).try_acquire_for(10s); });
  ASSERT_EQ(told(lease), "granted");
  EXPECT_EQ(lease->token().value(), visible_token(watcher_, "x"));
  EXPECT_EQ(watcher_.inspect("x").value().last_token, lease->token()) << "it was granted twice";
  EXPECT_EQ(outcome_of(watcher_.mutex("x", kLong).try_acquire()), "busy");
  ASSERT_EQ(told(lease->release()), "granted");
  EXPECT_TRUE(gone_everywhere());
  EXPECT_GT(watcher_.mutex("x", kLong).try_acquire().value().token(), Token(1));
}

TEST_P(RedlockLostReplies, OfRenewalsLoseNoLease) {
  Result<Lease> lease = client_.mutex("x", {.ttl = 2s}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  Result<void> renewed = Failure(Code::closed, "");
  lose_replies([&] { renewed = lease->renew(); });
  if (GetParam() == 1) {
    EXPECT_EQ(told(renewed), "granted");
  } else {
    EXPECT_THAT(told(renewed), Not(StartsWith("not_held")));
  }
  const BootTime before = lease->valid_until();
  EXPECT_TRUE(eventually([&] { return lease->valid_until() > before; })) << "it is renewed on";
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(visible_token(watcher_, "x"), lease->token().value());
  EXPECT_EQ(told(lease->release()), "granted");
}

TEST_P(RedlockLostReplies, OfReleasesStrandNothing) {
  Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  Result<void> released = Failure(Code::closed, "");
  lose_replies([&] { released = lease->release(); });
  if (GetParam() == 1) {
    EXPECT_EQ(told(released), "granted");
  } else {
    EXPECT_THAT(outcome_of(released), AnyOf("granted", "unknown"));
  }
  EXPECT_FALSE(lease->held());
  EXPECT_TRUE(gone_everywhere());
  expect_free_soon(watcher_, "x", 0ms);
}

// The release never arrives at first.
TEST_P(RedlockLostReplies, AndLostReleasesAreSentAgain) {
  Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  for (std::size_t i = 0; i < GetParam(); ++i) {
    nodes_.proxy(i).refuse(true);
    nodes_.proxy(i).reset();
  }
  const Result<void> released = lease->release();
  EXPECT_EQ(outcome_of(released), GetParam() == 1 ? "granted" : "unknown");
  EXPECT_EQ(nodes_.at(0).command({"EXISTS", kWord}), "1");
  for (std::size_t i = 0; i < GetParam(); ++i) nodes_.proxy(i).refuse(false);
  EXPECT_TRUE(gone_everywhere()) << "it waits for the ttl of 30 s";
}

// Votes that arrive after the call has ended: they are followed by a release.
TEST_P(RedlockLostReplies, AndVotesThatArriveLateAreGivenBack) {
  for (std::size_t i = 0; i < GetParam(); ++i) nodes_.proxy(i).set_both(ProxyMode::hold);
  Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  EXPECT_EQ(lease.ok(), GetParam() == 1) << told(lease);
  if (lease) {
    EXPECT_EQ(told(lease->release()), "granted");
  }
  for (std::size_t i = 0; i < GetParam(); ++i) nodes_.proxy(i).set_both(ProxyMode::pass);
  EXPECT_TRUE(eventually([&] { return nodes_.at(0).command({"EXISTS", kFence}) == "1"; }))
      << "the vote never arrived";
  EXPECT_TRUE(gone_everywhere());
}

// Something that is no answer to a vote comes in the place of one.
TEST_P(RedlockLostReplies, AndOthersInTheirPlaceStrandNothing) {
  int rounds = 0;
  for (const char* answer : {"+OK\r\n", "$-1\r\n", "*0\r\n", "HTTP/1.1 400\r\n"}) {
    SCOPED_TRACE(answer);
    for (std::size_t i = 0; i < GetParam(); ++i) {
      nodes_.proxy(i).set(Direction::to_client, ProxyMode::hold);
    }
    Pending trying = in_thread([&] { return client_.mutex("x", kLong).try_acquire(); });
    // (It may be between two connections, after the last round.)
    const bool asked =
        eventually([&] { return nodes_.at(0).command({"EXISTS", kWord}) == "1"; }, 2s);
    if (asked) ++rounds;
    for (std::size_t i = 0; i < GetParam() && asked; ++i) nodes_.proxy(i).inject(answer);
    for (std::size_t i = 0; i < GetParam(); ++i) {
      nodes_.proxy(i).set(Direction::to_client, ProxyMode::pass);
    }
    ASSERT_TRUE(arrives(trying));
    Result<Lease> lease = trying.get();
    if (GetParam() == 1) {
      EXPECT_EQ(told(lease), "granted");
    }
    if (lease) {
      EXPECT_EQ(lease->token().value(), visible_token(watcher_, "x"));
      EXPECT_THAT(outcome_of(lease->release()), AnyOf("granted", "unknown"));
    }
    EXPECT_TRUE(gone_everywhere()) << "a vote is stranded";
    // The connections are in step again.
    // (Each time another name: an earlier vote may still be on its way back.)
    ASSERT_TRUE(eventually([&] {
      static int names = 0;
      const std::string name = "y" + std::to_string(++names);
      Result<Lease> next = client_.mutex(name, kLong).try_acquire();
      const bool voted =
          eventually([&] { return nodes_.at(0).command({"EXISTS", name}) == "1"; }, 100ms);
      return voted && next && next->token().value() == visible_token(watcher_, name) &&
             next->release().ok();
    }));
  }
  EXPECT_GE(rounds, 2) << "too few of them were heard";
}

INSTANTIATE_TEST_SUITE_P(, RedlockLostReplies, testing::Values(1, 2),
                         [](const testing::TestParamInfo<std::size_t>& nodes) {
                           return nodes.param == 1 ? "AtOneNode" : "AtAMajority";
                         });

}  // namespace
}  // namespace holdfast::redlock_tests
