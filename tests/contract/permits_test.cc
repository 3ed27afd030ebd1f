// Semaphores: at most N hold at once, and N is stored and checked.
#include "child.h"
#include "contract.h"

namespace holdfast::contract {

class PermitsTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    HOLDFAST_NEEDS(permit_mode);
  }
};
HOLDFAST_ON_EVERY_ENGINE(PermitsTest);

TEST_P(PermitsTest, AtMostNHoldAtOnce) {
  Client one = open();
  Client two = open();
  std::vector<Lease> leases;
  for (int i = 0; i < 3; ++i) {
    Result<Lease> lease = (i % 2 == 0 ? one : two).semaphore("x", 3).try_acquire();
    ASSERT_EQ(outcome_of(lease), "granted");
    leases.push_back(std::move(lease).value());
  }
  EXPECT_EQ(outcome_of(one.semaphore("x", 3).try_acquire()), "busy");
  EXPECT_EQ(outcome_of(two.semaphore("x", 3).try_acquire()), "busy");
  leases.pop_back();
  EXPECT_EQ(outcome_of(two.semaphore("x", 3).try_acquire()), "granted");
}

TEST_P(PermitsTest, NoMoreThanNAreEverInsideTogether) {
  Client one = open();
  Client two = open();
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&, i] {
      Semaphore semaphore = (i % 2 == 0 ? one : two).semaphore("x", 3);
      for (int round = 0; round < 20; ++round) {
        const Lease lease = semaphore.acquire().value();
        const int now = ++inside;
        EXPECT_LE(now, 3);
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        pause_for(round == 0 ? 20ms : 100us);  // Long enough for the others to come, too.
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(most, 1) << "permits were never used together: the test shows nothing";
  expect_nothing_left(one, "x");
}

TEST_P(PermitsTest, AnotherNumberIsRefusedWhilePermitsAreHeld) {
  Client one = open();
  Client two = open();
  const Lease lease = one.semaphore("x", 3).acquire().value();
  for (const std::uint32_t other : {1U, 2U, 4U, 1000U}) {
    const Result<Lease> refused = two.semaphore("x", other).try_acquire();
    EXPECT_EQ(outcome_of(refused), "invalid_argument") << other;
    EXPECT_EQ(outcome_of(two.semaphore("x", other).acquire()), "invalid_argument") << other;
  }
  EXPECT_EQ(one.inspect("x").value().permits, 3U);
  EXPECT_EQ(outcome_of(two.semaphore("x", 3).try_acquire()), "granted");
}

TEST_P(PermitsTest, AnotherNumberIsRefusedWhilePermitsAreWaitedFor) {
  Client one = open();
  Client two = open();
  Lease writer = one.mutex("x").acquire().value();
  Semaphore semaphore = one.semaphore("x", 3);
  Pending waiting = in_thread([&] { return semaphore.acquire(); });
  ASSERT_TRUE(queue_reaches(two, "x", 1));
  EXPECT_EQ(outcome_of(two.semaphore("x", 4).try_acquire()), "invalid_argument");
  ASSERT_TRUE(writer.release());
  EXPECT_EQ(outcome_of(waiting.get()), "granted");
}

TEST_P(PermitsTest, AnotherNumberIsFineWhenNobodyHoldsOrWaits) {
  Client client = open();
  ASSERT_TRUE(client.semaphore("x", 3).acquire());
  EXPECT_EQ(outcome_of(client.semaphore("x", 5).try_acquire()), "granted");
  EXPECT_EQ(outcome_of(client.semaphore("x", 2).try_acquire()), "granted");
}

// The number belongs to the permits: once they are all given back it binds nobody, also if the
// name is in use in another mode.
TEST_P(PermitsTest, ANumberFromThePastDoesNotBindWhenTheNameIsUsedAsAMutex) {
  Client client = open();
  ASSERT_TRUE(client.semaphore("x", 3).acquire());
  Lease writer = client.mutex("x").acquire().value();
  Mutex mutex = client.mutex("x");
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  EXPECT_EQ(outcome_of(client.semaphore("x", 5).try_acquire()), "busy");
  ASSERT_TRUE(writer.release());
  EXPECT_EQ(outcome_of(waiting.get()), "granted");
}

TEST_P(PermitsTest, APermitWhoseTtlEndedIsFreeAgain) {
  Client one = open();
  Client two = open();
  const Lease fades = one.semaphore("x", 2, fading()).acquire().value();
  const Lease stays = one.semaphore("x", 2).acquire().value();
  EXPECT_EQ(outcome_of(two.semaphore("x", 2).try_acquire()), "busy");
  const Result<Lease> next = two.semaphore("x", 2).try_acquire_for(kPatience);
  ASSERT_EQ(outcome_of(next), "granted");
  EXPECT_FALSE(fades.held());
  EXPECT_TRUE(stays.held());
  EXPECT_EQ(outcome_of(two.semaphore("x", 2).try_acquire()), "busy");
}

TEST_P(PermitsTest, ThePermitOfAKilledProcessIsFreeAgain) {
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Child child(url());
  const Duration ttl = engine().notices_death ? 30s : engine().short_ttl;
  ASSERT_THAT(child.ask(Child::command("permit", "x 2", ttl)), testing::StartsWith("granted"));
  const Lease other = client.semaphore("x", 2).acquire().value();
  Semaphore semaphore = client.semaphore("x", 2);
  Pending waiting = in_thread([&] { return semaphore.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  child.kill();
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(outcome_of(waiting.get()), "granted");
}

TEST_P(PermitsTest, EveryPermitThatIsGivenBackLetsOneWaiterIn) {
  Client client = open();
  Semaphore semaphore = client.semaphore("x", 2);
  std::vector<Lease> leases;
  leases.push_back(semaphore.acquire().value());
  leases.push_back(semaphore.acquire().value());
  Pending first = in_thread([&] { return semaphore.acquire(); });
  Pending second = in_thread([&] { return semaphore.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 2));
  leases.pop_back();
  ASSERT_TRUE(queue_reaches(client, "x", 1)) << "nobody was let in";
  EXPECT_EQ(holders(client, "x"), 2U);
  leases.pop_back();
  ASSERT_TRUE(arrives(first));
  ASSERT_TRUE(arrives(second));
}

TEST_P(PermitsTest, PermitsReadersAndWritersOfOneNameExcludeEachOther) {
  HOLDFAST_NEEDS(shared_mode);
  Client client = open();
  {
    const Lease permit = client.semaphore("x", 3).acquire().value();
    EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
    EXPECT_EQ(outcome_of(client.shared_mutex("x").try_acquire_shared()), "busy");
  }
  {
    const Lease reader = client.shared_mutex("x").acquire_shared().value();
    EXPECT_EQ(outcome_of(client.semaphore("x", 3).try_acquire()), "busy");
  }
  const Lease writer = client.mutex("x").acquire().value();
  EXPECT_EQ(outcome_of(client.semaphore("x", 3).try_acquire()), "busy");
}

TEST_P(PermitsTest, ASemaphoreOfOneIsAMutex) {
  Client client = open();
  Lease lease = client.semaphore("x", 1).acquire().value();
  EXPECT_EQ(outcome_of(client.semaphore("x", 1).try_acquire()), "busy");
  ASSERT_TRUE(lease.release());
  EXPECT_EQ(outcome_of(client.semaphore("x", 1).try_acquire()), "granted");
}

}  // namespace holdfast::contract
