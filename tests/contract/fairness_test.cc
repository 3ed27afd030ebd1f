// First come, first served; nobody barges.
#include "child.h"
#include "contract.h"

namespace holdfast::contract {

class FairnessTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    HOLDFAST_NEEDS(fifo);
  }
};
HOLDFAST_ON_EVERY_ENGINE(FairnessTest);

TEST_P(FairnessTest, WaitersAreServedInTheOrderInWhichTheyCame) {
  Client one = open();
  Client two = open();
  Lease lease = one.mutex("x").acquire().value();
  std::mutex guard;
  std::vector<int> order;
  std::vector<std::thread> threads;
  for (int i = 0; i < 10; ++i) {
    threads.emplace_back([&, i] {
      const Lease mine = (i % 3 == 0 ? one : two).mutex("x").acquire().value();
      const std::lock_guard lock(guard);
      order.push_back(i);
    });
    EXPECT_TRUE(queue_reaches(one, "x", threads.size()));
  }
  EXPECT_TRUE(lease.release());
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_P(FairnessTest, ProcessesAreServedInTheOrderInWhichTheyCame) {
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Lease lease = client.mutex("x").acquire().value();
  std::vector<Child> children;
  for (std::size_t i = 0; i < 4; ++i) {
    children.emplace_back(url()).send("acquire x 30000");
    ASSERT_TRUE(queue_reaches(client, "x", i + 1));
  }
  Token last = lease.token();
  ASSERT_TRUE(lease.release());
  for (Child& child : children) {
    const std::string answer = child.answer();
    ASSERT_THAT(answer, testing::StartsWith("granted "));
    const Token token(std::stoull(answer.substr(8)));
    EXPECT_GT(token, last);
    last = token;
    EXPECT_EQ(child.ask("release"), "ok");
  }
}

// The holder is gone and its ttl ends while one process waits and another tries all the time. The
// one that tries is sure to be the first to see the end; it must give way.
TEST_P(FairnessTest, ANewcomerDoesNotPassTheQueueWhenTheHolderExpires) {
  HOLDFAST_NEEDS(between_processes);
  Client newcomer = open();
  Client fading_client = open();
  Child waiter(url());
  const Lease fades = fading_client.mutex("x", fading()).acquire().value();
  waiter.send("acquire x 30000");
  ASSERT_TRUE(queue_reaches(newcomer, "x", 1));
  std::future<std::string> answer = std::async(std::launch::async, [&] { return waiter.answer(); });
  Mutex mutex = newcomer.mutex("x");
  while (!is_ready(answer)) {
    const Result<Lease> barged = mutex.try_acquire();
    ASSERT_EQ(outcome_of(barged), "busy") << "a newcomer passed the waiter";
  }
  EXPECT_THAT(answer.get(), testing::StartsWith("granted"));
  EXPECT_EQ(outcome_of(mutex.try_acquire()), "busy");
  EXPECT_EQ(waiter.ask("release"), "ok");
  EXPECT_EQ(outcome_of(mutex.try_acquire()), "granted");
}

TEST_P(FairnessTest, ANewcomerDoesNotPassTheQueueWhenTheHolderIsKilled) {
  HOLDFAST_NEEDS(between_processes);
  Client newcomer = open();
  Child holder(url());
  Child waiter(url());
  ASSERT_THAT(holder.ask(Child::command("acquire", "x", engine().short_ttl)),
              testing::StartsWith("granted"));
  waiter.send("acquire x 30000");
  ASSERT_TRUE(queue_reaches(newcomer, "x", 1));
  std::future<std::string> answer = std::async(std::launch::async, [&] { return waiter.answer(); });
  holder.kill();
  Mutex mutex = newcomer.mutex("x");
  while (!is_ready(answer)) {
    const Result<Lease> barged = mutex.try_acquire();
    ASSERT_EQ(outcome_of(barged), "busy") << "a newcomer passed the waiter";
  }
  EXPECT_THAT(answer.get(), testing::StartsWith("granted"));
}

// Handing over is one step: between release and grant there is no gap for anybody to slip in.
TEST_P(FairnessTest, ATryDoesNotSlipInBetweenReleaseAndHandOver) {
  Client one = open();
  Client two = open();
  std::atomic<bool> over = false;
  std::atomic<int> barged = 0;
  Lease lease = one.mutex("x").acquire().value();
  for (int round = 0; round < 20; ++round) {
    Mutex mutex = two.mutex("x");
    Pending waiting = in_thread([&] { return mutex.acquire(); });
    ASSERT_TRUE(queue_reaches(one, "x", 1));
    over = false;
    std::thread trier([&] {
      Mutex impatient = one.mutex("x");
      while (!over) {
        if (impatient.try_acquire()) ++barged;
      }
    });
    EXPECT_TRUE(lease.release());
    Result<Lease> got = waiting.get();
    over = true;
    trier.join();
    ASSERT_EQ(outcome_of(got), "granted");
    lease = std::move(got).value();
  }
  EXPECT_EQ(barged, 0);
}

TEST_P(FairnessTest, AWaiterThatLeavesCostsNobodyElseItsPlace) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  Lease lease = mutex.acquire().value();
  Pending first = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  std::stop_source stop;
  Pending leaves = in_thread([&] { return mutex.acquire(stop.get_token()); });
  ASSERT_TRUE(queue_reaches(client, "x", 2));
  Pending last = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 3));
  stop.request_stop();
  EXPECT_EQ(outcome_of(leaves.get()), "cancelled");
  ASSERT_TRUE(lease.release());
  Result<Lease> got_first = first.get();
  ASSERT_EQ(outcome_of(got_first), "granted");
  EXPECT_FALSE(is_ready(last));
  ASSERT_TRUE(got_first->release());
  EXPECT_EQ(outcome_of(last.get()), "granted");
}

TEST_P(FairnessTest, BusyTellsHowManyAreAhead) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  Lease lease = mutex.acquire().value();
  Pending first = in_thread([&] { return mutex.acquire(); });
  Pending second = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 2));
  const Result<Lease> tried = mutex.try_acquire();
  ASSERT_EQ(outcome_of(tried), "busy");
  EXPECT_EQ(tried.failure().busy()->rank, 2U);
  const Result<Lease> waited = mutex.try_acquire_for(5ms);
  ASSERT_EQ(outcome_of(waited), "busy");
  EXPECT_EQ(waited.failure().busy()->rank, 2U);
  ASSERT_TRUE(lease.release());
  // Which of the two was first we do not know: give each its turn.
  std::thread other([&] { EXPECT_EQ(outcome_of(first.get()), "granted"); });
  EXPECT_EQ(outcome_of(second.get()), "granted");
  other.join();
}

}  // namespace holdfast::contract
