// Nodes that lose their data: they do not vote until what they forgot has ended, and tokens grow
// over all of it.
#include "redlock_testing.h"

namespace holdfast::redlock_tests {
namespace {

class RedlockAmnesia : public RedlockOfThree {
 protected:
  // Somebody has seen that the node is empty, and what it has to do.
  bool begins_to_join(std::size_t node) {
    return eventually([&] {
      static_cast<void>(client_.mutex("look", kLong).try_acquire());
      return marker(node).starts_with("joining ");
    });
  }
  // As if the silence were over.
  void end_silence(std::size_t node) {
    std::string text = marker(node);
    ASSERT_THAT(text, StartsWith("joining "));
    text = text.substr(0, text.rfind(' ')) + " 1";
    ASSERT_EQ(at(node).command({"SET", kMarker, text}), "OK");
  }
  bool votes(std::size_t node) { return !marker(node).empty() && marker(node)[0] < 'a'; }
  bool votes_again(std::size_t node) {
    return eventually([&] {
      static_cast<void>(client_.mutex("look", kLong).try_acquire());
      return votes(node);
    });
  }
  Token take(Client& client) {
    Result<Lease> lease = client.mutex("x", kLong).try_acquire_for(5s);
    EXPECT_EQ(told(lease), "granted");
    return lease ? lease->token() : Token();
  }
};

TEST_F(RedlockAmnesia, ANodeThatIsEmptyDoesNotVoteBeforeItsSilenceIsOver) {
  const Token before = take(client_);
  at(2).restart();  // It keeps nothing on disk.
  ASSERT_TRUE(begins_to_join(2));
  EXPECT_THAT(marker(2), testing::MatchesRegex("joining [0-9.]+ 60000 3 0 0 [0-9a-f]+ [0-9]+"));
  {
    Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
    ASSERT_EQ(told(lease), "granted") << "the others are a majority";
    EXPECT_GT(lease->token(), before);
    EXPECT_EQ(at(2).command({"EXISTS", kWord}), "0");
    // It cannot make a majority with one of the others.
    at(1).pause();
    const std::string said = told(other_.mutex("y", kLong).try_acquire());
    EXPECT_THAT(said, Not(HasSubstr("granted")));
    EXPECT_THAT(said, HasSubstr("does not vote yet"));
    at(1).resume();
  }
  const std::string silent_until = marker(2).substr(marker(2).rfind(' ') + 1);
  const std::string now_s = at(2).command({"TIME"});
  EXPECT_GT(std::stoull(silent_until), std::stoull(now_s) * 1000 + 50'000);
}

// It has its marker, but not the vote that it gave since.
TEST_F(RedlockAmnesia, ANodeThatComesBackWithOldDataDoesNotVote) {
  static_cast<void>(take(client_));
  ASSERT_EQ(at(2).command({"SAVE"}), "OK");
  ASSERT_EQ(at(0).command({"SET", kWord, "somebody else's"}), "OK");
  Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted") << "by the second and the third";
  at(2).restart();
  ASSERT_NE(at(2).command({"GET", kMarker}), "") << "the snapshot was not loaded";
  at(1).pause();
  at(0).command({"DEL", kWord});
  Client fresh = open(masters_.url());
  EXPECT_THAT(told(fresh.mutex("x", kLong).try_acquire()), Not(HasSubstr("granted")));
  EXPECT_TRUE(lease->held());
  at(1).resume();
}

TEST_F(RedlockAmnesia, ANodeWhoseSilenceIsOverVotesAgainWithTheOthersFences) {
  const Token before = take(client_);
  at(2).command({"FLUSHALL"});
  ASSERT_TRUE(begins_to_join(2));
  const Token during = take(other_);
  EXPECT_GT(during, before);
  EXPECT_EQ(at(2).command({"EXISTS", kFence}), "0");
  end_silence(2);
  ASSERT_TRUE(votes_again(2));
  EXPECT_THAT(at(2).command({"GET", kFence}), StartsWith(during.str() + " "))
      << "it must not accept again what the others have accepted";
  EXPECT_EQ(epoch_of(marker(2)), epoch_of(marker(0)));
  // Its vote counts.
  at(0).kill();
  EXPECT_GT(take(client_), during);
  EXPECT_EQ(told(other_.mutex("x", kLong).try_acquire_for(5s)), "granted");
}

// Otherwise votes from before, of which the empty node was part, could still be counted.
TEST_F(RedlockAmnesia, TheOthersEpochIsRaisedBeforeTheEmptyNodeJoins) {
  const std::string before = marker(0);
  at(2).command({"FLUSHALL"});
  ASSERT_TRUE(begins_to_join(2));
  const auto epoch_in = [](const std::string& text) { return std::stoull(text); };
  EXPECT_GT(epoch_in(marker(0)), epoch_in(before));
  EXPECT_GT(epoch_in(marker(1)), epoch_in(before));
  EXPECT_EQ(epoch_in(marker(2).substr(8)), epoch_in(marker(0)));
  // A client that has not heard of it hears of it with its first vote.
  EXPECT_EQ(told(other_.mutex("x", kLong).try_acquire()), "granted");
}

TEST_F(RedlockAmnesia, ALongerTtlMakesALongerSilence) {
  ASSERT_EQ(told(client_.mutex("x", {.ttl = 10min}).try_acquire()), "granted");
  EXPECT_THAT(marker(0), testing::MatchesRegex("[0-9.]+ 600000 3 .*"));
  EXPECT_THAT(marker(1), testing::MatchesRegex("[0-9.]+ 600000 3 .*"));
  // A client that knew of less can still vote, and one that comes later knows.
  EXPECT_EQ(told(other_.mutex("x", kLong).try_acquire_for(1s)), "granted");
  at(2).command({"FLUSHALL"});
  ASSERT_TRUE(begins_to_join(2));
  EXPECT_THAT(marker(2), testing::MatchesRegex("joining [0-9.]+ 600000 3 0 0 [0-9a-f]+ [0-9]+"));
}

TEST_F(RedlockAmnesia, ItIsWarnedOf) {
  auto listener = std::make_shared<Listener>();
  Client client = open(masters_.url(), {.observer = listener});
  ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  at(1).command({"FLUSHALL"});
  EXPECT_TRUE(eventually([&] {
    static_cast<void>(client.mutex("x", kLong).try_acquire());
    return !listener->warnings().empty();
  }));
  EXPECT_THAT(listener->warnings(), Contains(HasSubstr("has lost its data")));
  EXPECT_THAT(listener->warnings(), Contains(HasSubstr(std::to_string(at(1).port()))));
}

// ---- Those who hold ----------------------------------------------------------------------------

TEST_F(RedlockAmnesia, AHolderKeepsItsLeaseWhenOneNodeForgetsIt) {
  Result<Lease> lease = client_.mutex("x", {.ttl = 900ms}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  at(2).command({"FLUSHALL"});
  for (int renewals = 0; renewals < 3; ++renewals) {
    const BootTime before = lease->valid_until();
    ASSERT_TRUE(eventually([&] { return lease->valid_until() > before; }));
  }
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(at(2).command({"EXISTS", kWord}), "0") << "it voted though it has lost its data";
  EXPECT_EQ(outcome_of(other_.mutex("x", kLong).try_acquire()), "busy");
  // The two others are needed now.
  at(1).pause();
  EXPECT_TRUE(eventually([&] { return lease->lost().stop_requested(); }));
  EXPECT_FALSE(lease->held());
  at(1).resume();
}

// Two nodes forget one after the other: together they could have been somebody's majority.
TEST_F(RedlockAmnesia, AHolderIsNotJoinedByAnotherOverNodesThatForgot) {
  Result<Lease> lease = client_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  at(2).command({"FLUSHALL"});
  ASSERT_TRUE(begins_to_join(2));
  at(1).command({"FLUSHALL"});
  const Result<Lease> second = other_.mutex("x", kLong).try_acquire_for(500ms);
  EXPECT_FALSE(second) << "two hold it";
}

// ---- A majority --------------------------------------------------------------------------------

TEST_F(RedlockAmnesia, AMajorityThatForgotIsSaid) {
  at(0).command({"FLUSHALL"});
  at(2).command({"FLUSHALL"});
  const std::string said = told(client_.mutex("x", kLong).try_acquire());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("2 of 3 nodes have lost their data"));
  EXPECT_THAT(said, HasSubstr("delete the key holdfast:redlock"));
  Client fresh = open(masters_.url());
  EXPECT_THAT(told(fresh.mutex("x", kLong).try_acquire_for(200ms)),
              HasSubstr("2 of 3 nodes have lost their data"));
  // The advice of the message helps.
  at_all({"DEL", kMarker});
  EXPECT_EQ(told(fresh.mutex("x", kLong).try_acquire()), "granted");
  EXPECT_EQ(told(client_.mutex("x", kLong).try_acquire_for(1s)), "granted");
}

TEST_F(RedlockAmnesia, NodesThatAllForgotBeginAnewAndTokensStillGrow) {
  Token last = take(client_);
  for (int i = 0; i < 5; ++i) {
    at_all({"FLUSHALL"});
    const Token next = take(i % 2 == 0 ? client_ : other_);
    EXPECT_GT(next, last);
    last = next;
  }
}

TEST_F(RedlockAmnesia, TokensGrowOverNodesThatForgetOneAfterTheOther) {
  Token last = take(client_);
  for (std::size_t node = 0; node < 3; ++node) {
    at(node).command({"FLUSHALL"});
    for (int i = 0; i < 3; ++i) {
      const Token next = take(i % 2 == 0 ? client_ : other_);
      EXPECT_GT(next, last);
      last = next;
    }
    ASSERT_TRUE(begins_to_join(node));
    end_silence(node);
    ASSERT_TRUE(votes_again(node));
  }
  EXPECT_GT(take(client_), last);
}

// ---- Scripts -----------------------------------------------------------------------------------

TEST_F(RedlockAmnesia, FlushedScriptsGoUnnoticed) {
  std::atomic<bool> done = false;
  std::jthread flusher([&] {
    while (!done) at_all({"SCRIPT", "FLUSH"});
  });
  for (int i = 0; i < 40; ++i) {
    const std::string name = i % 2 == 0 ? "x" : "y";
    Result<Lease> lease = (i % 3 == 0 ? client_ : other_).mutex(name, kLong).try_acquire_for(5s);
    EXPECT_EQ(told(lease), "granted");
    if (!lease) break;
    EXPECT_EQ(told(lease->renew()), "granted");
    EXPECT_EQ(told(client_.inspect(name)), "granted");
    EXPECT_EQ(told(lease->release()), "granted");
  }
  done = true;
}

}  // namespace
}  // namespace holdfast::redlock_tests
