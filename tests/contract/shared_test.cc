// Many readers or one writer; writers do not starve; there is no upgrade.
#include "child.h"
#include "contract.h"

namespace holdfast::contract {

class SharedTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    HOLDFAST_NEEDS(shared_mode);
  }
};
HOLDFAST_ON_EVERY_ENGINE(SharedTest);

TEST_P(SharedTest, ReadersHoldTogether) {
  HOLDFAST_NEEDS(between_processes);
  Client one = open();
  Client two = open();
  Child child(url());
  const Lease a = one.shared_mutex("x").acquire_shared().value();
  const Lease b = one.shared_mutex("x").acquire_shared().value();
  const Result<Lease> c = two.shared_mutex("x").try_acquire_shared();
  EXPECT_EQ(outcome_of(c), "granted");
  EXPECT_THAT(child.ask("shared x 30000"), testing::StartsWith("granted"));
  EXPECT_EQ(holders(one, "x"), 4U);
}

TEST_P(SharedTest, AReaderExcludesWritersAndAWriterExcludesReaders) {
  Client one = open();
  Client two = open();
  {
    const Lease reader = one.shared_mutex("x").acquire_shared().value();
    EXPECT_EQ(outcome_of(two.shared_mutex("x").try_acquire()), "busy");
    EXPECT_EQ(outcome_of(two.mutex("x").try_acquire()), "busy");
  }
  const Lease writer = one.shared_mutex("x").acquire().value();
  EXPECT_EQ(outcome_of(two.shared_mutex("x").try_acquire_shared()), "busy");
  EXPECT_EQ(outcome_of(one.shared_mutex("x").try_acquire_shared()), "busy");
}

TEST_P(SharedTest, AWriterGetsInWhenTheLastReaderLeaves) {
  Client client = open();
  SharedMutex mutex = client.shared_mutex("x");
  Lease a = mutex.acquire_shared().value();
  Lease b = mutex.acquire_shared().value();
  Pending writer = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  ASSERT_TRUE(a.release());
  EXPECT_EQ(outcome_of(mutex.try_acquire_shared()), "busy");
  EXPECT_FALSE(is_ready(writer));
  ASSERT_TRUE(b.release());
  ASSERT_TRUE(arrives(writer));
  EXPECT_EQ(outcome_of(writer.get()), "granted");
}

TEST_P(SharedTest, AWaitingWriterIsServedBeforeReadersThatCameLater) {
  HOLDFAST_NEEDS(fifo);
  Client client = open();
  SharedMutex mutex = client.shared_mutex("x");
  Lease early = mutex.acquire_shared().value();
  Pending writer = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  EXPECT_EQ(outcome_of(mutex.try_acquire_shared()), "busy") << "a reader passed the writer";
  Pending late = in_thread([&] { return mutex.acquire_shared(); });
  ASSERT_TRUE(queue_reaches(client, "x", 2));
  ASSERT_TRUE(early.release());
  ASSERT_TRUE(arrives(writer));
  Result<Lease> wrote = writer.get();
  ASSERT_EQ(outcome_of(wrote), "granted");
  EXPECT_FALSE(is_ready(late));
  ASSERT_TRUE(wrote->release());
  EXPECT_EQ(outcome_of(late.get()), "granted");
}

TEST_P(SharedTest, AWriterIsNotStarvedByReadersThatKeepComing) {
  Client one = open();
  Client two = open();
  std::atomic<bool> over = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 6; ++i) {
    readers.emplace_back([&] {
      SharedMutex mutex = one.shared_mutex("x");
      while (!over) {
        const Lease lease = mutex.acquire_shared().value();
        pause_for(2ms);  // Six of them: there is hardly ever nobody inside.
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return holders(two, "x") > 2; }));
  for (int i = 0; i < 5; ++i) {
    const Result<Lease> wrote = two.shared_mutex("x").try_acquire_for(kPatience);
    EXPECT_EQ(outcome_of(wrote), "granted") << why(wrote);
  }
  over = true;
  for (std::thread& thread : readers) thread.join();
}

TEST_P(SharedTest, ReadersBehindAWriterAreLetInTogether) {
  Client client = open();
  SharedMutex mutex = client.shared_mutex("x");
  Lease writer = mutex.acquire().value();
  std::vector<Pending> readers;
  for (std::size_t i = 0; i < 4; ++i) {
    readers.push_back(in_thread([&] { return mutex.acquire_shared(); }));
    ASSERT_TRUE(queue_reaches(client, "x", i + 1));
  }
  ASSERT_TRUE(writer.release());
  std::vector<Lease> leases;
  for (Pending& reader : readers) {
    ASSERT_TRUE(arrives(reader)) << "a reader waits for another reader";
    leases.push_back(reader.get().value());
  }
  EXPECT_EQ(holders(client, "x"), leases.size());
}

TEST_P(SharedTest, ACancelledWriterLetsTheReadersBehindItJoin) {
  Client client = open();
  SharedMutex mutex = client.shared_mutex("x");
  const Lease early = mutex.acquire_shared().value();
  std::stop_source stop;
  Pending writer = in_thread([&] { return mutex.acquire(stop.get_token()); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  Pending late = in_thread([&] { return mutex.acquire_shared(); });
  ASSERT_TRUE(queue_reaches(client, "x", 2));
  stop.request_stop();
  EXPECT_EQ(outcome_of(writer.get()), "cancelled");
  ASSERT_TRUE(arrives(late)) << "the reader still waits behind a writer that has left";
  EXPECT_EQ(outcome_of(late.get()), "granted");
}

TEST_P(SharedTest, AReaderKilledAmongReadersKeepsTheWriterOutOnlyWhileOthersRead) {
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Child killed(url());
  Child reads_on(url());
  const Duration ttl = engine().notices_death ? 30s : engine().short_ttl;
  const std::string command = Child::command("shared", "x", ttl);
  ASSERT_THAT(killed.ask(command), testing::StartsWith("granted"));
  ASSERT_THAT(reads_on.ask(command), testing::StartsWith("granted"));
  SharedMutex mutex = client.shared_mutex("x");
  Pending writer = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  killed.kill();
  pause_for(50ms);
  EXPECT_FALSE(is_ready(writer)) << "the writer is in while a reader reads";
  EXPECT_EQ(reads_on.ask("held"), "yes");
  EXPECT_EQ(reads_on.ask("release"), "ok");
  ASSERT_TRUE(arrives(writer));
  EXPECT_EQ(outcome_of(writer.get()), "granted");
}

TEST_P(SharedTest, TheDeathOfAllReadersLetsTheWriterIn) {
  HOLDFAST_NEEDS(between_processes);
  Client client = open();
  Child one(url());
  Child two(url());
  const Duration ttl = engine().notices_death ? 30s : engine().short_ttl;
  const std::string command = Child::command("shared", "x", ttl);
  ASSERT_THAT(one.ask(command), testing::StartsWith("granted"));
  SharedMutex mutex = client.shared_mutex("x");
  ASSERT_THAT(two.ask(command), testing::StartsWith("granted"));
  Pending writer = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  one.kill();
  two.kill();
  ASSERT_TRUE(arrives(writer));
  EXPECT_EQ(outcome_of(writer.get()), "granted");
}

TEST_P(SharedTest, AReaderWhoseTtlEndedDoesNotKeepTheWriterOut) {
  Client one = open();
  Client two = open();
  const Lease fades = one.shared_mutex("x", fading()).acquire_shared().value();
  const Result<Lease> writer = two.shared_mutex("x").try_acquire_for(kPatience);
  ASSERT_EQ(outcome_of(writer), "granted");
  EXPECT_FALSE(fades.held());
}

// Two readers that both want to write would wait for each other for ever, if there were an
// upgrade. There is none: both are refused in time, both go on reading, and one can write when the
// other has left.
TEST_P(SharedTest, TwoReadersThatWantToWriteDoNotDeadlock) {
  Client client = open();
  SharedMutex mutex = client.shared_mutex("x");
  Lease a = mutex.acquire_shared().value();
  Lease b = mutex.acquire_shared().value();
  Pending a_writes = in_thread([&] { return mutex.try_acquire_for(50ms); });
  Pending b_writes = in_thread([&] { return mutex.try_acquire_for(50ms); });
  EXPECT_EQ(outcome_of(a_writes.get()), "busy");
  EXPECT_EQ(outcome_of(b_writes.get()), "busy");
  EXPECT_TRUE(a.held());
  EXPECT_TRUE(b.held());
  ASSERT_TRUE(a.release());
  ASSERT_TRUE(b.release());
  expect_nothing_left(client, "x");
}

TEST_P(SharedTest, NobodyReadsWhileSomebodyWrites) {
  Client one = open();
  Client two = open();
  std::atomic<int> readers = 0;
  std::atomic<int> writers = 0;
  std::atomic<int> together = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      SharedMutex mutex = (i % 2 == 0 ? one : two).shared_mutex("x");
      for (int round = 0; round < 40; ++round) {
        if ((i + round) % 3 == 0) {
          const Lease lease = mutex.acquire().value();
          EXPECT_EQ(++writers, 1);
          EXPECT_EQ(readers, 0);
          --writers;
        } else {
          const Lease lease = mutex.acquire_shared().value();
          if (++readers > 1) ++together;
          EXPECT_EQ(writers, 0);
          --readers;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  RecordProperty("read_together", together);
  expect_nothing_left(one, "x");
}

}  // namespace holdfast::contract
