// kill -9 at any instant: the next caller gets in, and nothing is stranded.
#include "child.h"
#include "contract.h"

namespace holdfast::contract {

class CrashTest : public ContractTest {
 protected:
  // A killed process's lock must come free long before this where the engine notices deaths.
  Duration ttl() const { return engine().notices_death ? Duration(1h) : engine().short_ttl; }
  std::string acquire(const std::string& name) const {
    return Child::command("acquire", name, ttl());
  }
};
HOLDFAST_ON_EVERY_ENGINE(CrashTest);

TEST_P(CrashTest, AWaiterGetsTheLockOfAKilledHolder) {
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Child holder(url());
  ASSERT_THAT(holder.ask(acquire("x")), testing::StartsWith("granted"));
  Mutex mutex = client.mutex("x");
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  holder.kill();
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(outcome_of(waiting.get()), "granted");
}

TEST_P(CrashTest, ANewcomerGetsTheLockOfAKilledHolderWithoutWaiting) {
  HOLDFAST_NEEDS(notices_death);
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Child holder(url());
  ASSERT_THAT(holder.ask(acquire("x")), testing::StartsWith("granted"));
  ASSERT_THAT(outcome_of(client.mutex("x").try_acquire()), "busy");
  holder.kill();
  EXPECT_EQ(holders(client, "x"), 0U) << "a dead process is shown as the holder";
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "granted");
}

TEST_P(CrashTest, AWaiterInAnotherProcessGetsTheLockOfAKilledHolder) {
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Child holder(url());
  Child waiter(url());
  ASSERT_THAT(holder.ask(acquire("x")), testing::StartsWith("granted"));
  waiter.send(acquire("x"));
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  holder.kill();
  EXPECT_THAT(waiter.answer(), testing::StartsWith("granted"));
}

TEST_P(CrashTest, AKilledWaiterIsSkipped) {
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Lease lease = client.mutex("x").acquire().value();
  Child killed(url());
  Child next(url());
  killed.send(acquire("x"));
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  next.send(acquire("x"));
  ASSERT_TRUE(queue_reaches(client, "x", 2));
  killed.kill();
  ASSERT_TRUE(lease.release());
  EXPECT_THAT(next.answer(), testing::StartsWith("granted"));
}

// The dead waiter leaves the queue in the same step in which the newcomer joins it.
TEST_P(CrashTest, ANewcomerBehindAKilledWaiterIsInTheQueue) {
  HOLDFAST_NEEDS(notices_death);
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Lease lease = client.mutex("x").acquire().value();
  Child killed(url());
  killed.send(acquire("x"));
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  killed.kill();
  EXPECT_EQ(waiters(client, "x"), 0U) << "a dead process is shown as a waiter";
  Mutex mutex = client.mutex("x");
  std::stop_source stop;
  Pending waiting = in_thread([&] { return mutex.acquire(stop.get_token()); });
  EXPECT_TRUE(eventually([&] { return waiters(client, "x") == 1; }, 5s))
      << "it waits without standing in the queue: others will pass it";
  ASSERT_TRUE(lease.release());
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(outcome_of(waiting.get()), "granted");
}

TEST_P(CrashTest, AQueueOfKilledWaitersIsSkippedAsAWhole) {
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Lease lease = client.mutex("x").acquire().value();
  std::vector<Child> line;
  for (std::size_t i = 0; i < 6; ++i) {
    line.emplace_back(url()).send(acquire("x"));
    ASSERT_TRUE(queue_reaches(client, "x", i + 1));
  }
  for (Child& child : line) child.kill();
  ASSERT_TRUE(lease.release());
  const Result<Lease> next = client.mutex("x").try_acquire_for(kPatience);
  ASSERT_EQ(outcome_of(next), "granted");
  // A database server may need a moment to see that a client that waits is gone.
  EXPECT_TRUE(eventually([&] { return waiters(client, "x") == 0; }, 5s));
}

TEST_P(CrashTest, TheHolderAndAllButTheLastWaiterAreKilledTogether) {
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  std::vector<Child> all;
  ASSERT_THAT(all.emplace_back(url()).ask(acquire("x")), testing::StartsWith("granted"));
  for (std::size_t i = 0; i < 4; ++i) {
    all.emplace_back(url()).send(acquire("x"));
    ASSERT_TRUE(queue_reaches(client, "x", i + 1));
  }
  // From the back, so that each dies before the one that it watches.
  for (std::size_t i = all.size() - 1; i-- > 0;) all[i].kill();
  EXPECT_THAT(all.back().answer(), testing::StartsWith("granted"));
}

TEST_P(CrashTest, AKilledProcessFreesAllItsLocks) {
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  std::vector<Child> children;
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(children.emplace_back(url()).ask(
                    Child::command("acquire", "x" + std::to_string(i), engine().short_ttl)),
                testing::StartsWith("granted"));
  }
  EXPECT_EQ(client.list("x").value().size(), 3U);
  for (Child& child : children) child.kill();
  EXPECT_TRUE(eventually([&] { return client.list("x").value().empty(); }));
  for (int i = 0; i < 3; ++i) expect_nothing_left(client, "x" + std::to_string(i));
}

// Processes that acquire, wait, read, write and give up at random are killed at random. Whoever
// comes next gets in long before a ttl ends, with a higher token than before.
TEST_P(CrashTest, KillsAtRandomInstantsStrandNothing) {
  HOLDFAST_NEEDS(notices_death);
  HOLDFAST_NEEDS(shared_mode);
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Mutex mutex = client.mutex("x");
  Dice dice;
  SCOPED_TRACE(dice.describe());
  const auto storm = [&] {
    Child child(url());
    child.send("storm x " + std::to_string(dice.below(1'000'000)));
    return std::make_unique<Child>(std::move(child));
  };
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 4; ++i) children.push_back(storm());
  Token last;
  for (int round = 0; round < 40; ++round) {
    std::unique_ptr<Child>& victim = children[dice.below(children.size())];
    pause_for(std::chrono::microseconds(dice.below(8000)));
    victim->kill();
    const BootTime begin = BootClock::now();
    const Result<Lease> lease = mutex.try_acquire_for(kPatience);
    ASSERT_EQ(outcome_of(lease), "granted")
        << "round " << round << " after "
        << std::chrono::duration<double>(BootClock::now() - begin).count() << " s";
    EXPECT_GT(lease->token(), last);
    last = lease->token();
    victim = storm();
  }
  for (std::unique_ptr<Child>& child : children) child->kill();
  EXPECT_EQ(outcome_of(mutex.try_acquire()), "granted") << "something is stranded";
  expect_nothing_left(client, "x");
}

}  // namespace holdfast::contract
