// Fencing tokens: strictly increasing per name in grant order, unique, never reset.
#include "child.h"
#include "contract.h"

namespace holdfast::contract {

class TokensTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    HOLDFAST_NEEDS(increasing_tokens);
  }
};
HOLDFAST_ON_EVERY_ENGINE(TokensTest);

TEST_P(TokensTest, EveryGrantHasAHigherTokenThanTheOneBefore) {
  Client one = open();
  Client two = open();
  Token last;
  for (int i = 0; i < 50; ++i) {
    Lease lease = (i % 2 == 0 ? one : two).mutex("x").acquire().value();
    EXPECT_GT(lease.token(), last);
    last = lease.token();
  }
}

TEST_P(TokensTest, ATokenIsNeverZero) {
  Client client = open();
  EXPECT_GT(client.mutex("never seen before").acquire().value().token(), Token(0));
}

TEST_P(TokensTest, TokensGoOnWhenEverybodyHasLeftAndComesBack) {
  Token last;
  for (int i = 0; i < 5; ++i) {
    Client client = open();
    const Lease lease = client.mutex("x").acquire().value();
    EXPECT_GT(lease.token(), last);
    last = lease.token();
  }
}

TEST_P(TokensTest, RenewalKeepsTheToken) {
  Client client = open();
  Lease lease = client.mutex("x").acquire().value();
  const Token token = lease.token();
  EXPECT_EQ(outcome_of(lease.renew()), "granted");
  EXPECT_EQ(lease.token(), token);
  EXPECT_EQ(client.inspect("x").value().holders.at(0).token, token);
}

TEST_P(TokensTest, AFailedTryCostsTheHolderNothing) {
  Client client = open();
  const Lease lease = client.mutex("x").acquire().value();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(client.mutex("x").try_acquire());
  const LockInfo info = client.inspect("x").value();
  EXPECT_EQ(info.last_token, lease.token());
  EXPECT_EQ(info.holders.at(0).token, lease.token());
}

TEST_P(TokensTest, TheSuccessorOfAnExpiredHolderHasAHigherToken) {
  Client client = open();
  const Lease expired = client.mutex("x", fading()).acquire().value();
  const Lease next = client.mutex("x").acquire().value();  // Waits for the ttl.
  EXPECT_GT(next.token(), expired.token());
}

TEST_P(TokensTest, TheSuccessorOfAnEvictedHolderHasAHigherToken) {
  Client client = open();
  const Lease evicted = client.mutex("x").acquire().value();
  ASSERT_EQ(outcome_of(client.evict("x", evicted.token())), "granted");
  const Lease next = client.mutex("x").try_acquire().value();
  EXPECT_GT(next.token(), evicted.token());
}

TEST_P(TokensTest, TheSuccessorOfAKilledHolderHasAHigherToken) {
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Child child(url());
  ASSERT_THAT(child.ask(Child::command("acquire", "x", engine().short_ttl)),
              testing::StartsWith("granted"));
  const Token before = client.inspect("x").value().holders.at(0).token;
  child.kill();
  EXPECT_GT(client.mutex("x").acquire().value().token(), before);
}

TEST_P(TokensTest, AllModesOfANameDrawFromOneSequence) {
  HOLDFAST_NEEDS(shared_mode);
  HOLDFAST_NEEDS(permit_mode);
  Client client = open();
  SharedMutex shared = client.shared_mutex("x");
  Semaphore semaphore = client.semaphore("x", 3);
  Token last;
  const auto expect_higher = [&](const Lease& lease) {
    EXPECT_GT(lease.token(), last);
    last = lease.token();
  };
  for (int i = 0; i < 3; ++i) {
    expect_higher(shared.acquire().value());
    {
      const Lease first = shared.acquire_shared().value();
      expect_higher(first);
      expect_higher(shared.acquire_shared().value());  // Together with the first.
    }
    expect_higher(semaphore.acquire().value());
  }
}

// The token is drawn with the lock, not before it: among waiters the order of tokens is the order
// in which they got in, however they came.
TEST_P(TokensTest, WaitersGetTheirTokensInTheOrderOfTheirGrants) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  Lease first = mutex.acquire().value();
  std::mutex guard;
  std::vector<Token> in_grant_order;
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&] {
      const Lease lease = mutex.acquire().value();
      const std::lock_guard lock(guard);  // Taken under the lock: the order is the grants'.
      in_grant_order.push_back(lease.token());
    });
  }
  EXPECT_TRUE(queue_reaches(client, "x", threads.size()));
  const Token before = first.token();
  EXPECT_EQ(outcome_of(first.release()), "granted");
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(in_grant_order.size(), threads.size());
  EXPECT_GT(in_grant_order.front(), before);
  EXPECT_TRUE(std::is_sorted(in_grant_order.begin(), in_grant_order.end()));
  EXPECT_EQ(std::adjacent_find(in_grant_order.begin(), in_grant_order.end()), in_grant_order.end());
}

}  // namespace holdfast::contract
