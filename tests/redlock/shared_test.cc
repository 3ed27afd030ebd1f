// Readers and writers over several nodes: each reader needs a majority of its own, and so does the
// writer that keeps them out.
#include <set>

#include "redlock_testing.h"

namespace holdfast::redlock_tests {
namespace {

class RedlockShared : public RedlockOfThree {};

TEST_F(RedlockShared, ReadersHoldTogetherWithTokensOfTheirOwn) {
  std::set<Token> tokens;
  std::vector<Lease> readers;
  Token last;
  for (int i = 0; i < 6; ++i) {
    Client& client = i % 2 == 0 ? client_ : other_;
    Result<Lease> reader = client.shared_mutex("x", kLong).try_acquire_shared();
    ASSERT_EQ(told(reader), "granted");
    EXPECT_TRUE(tokens.insert(reader->token()).second) << "a token that another reader has";
    EXPECT_GT(reader->token(), last);
    last = reader->token();
    readers.push_back(std::move(*reader));
  }
  EXPECT_EQ(client_.inspect("x").value().holders.size(), readers.size());
  EXPECT_EQ(outcome_of(client_.shared_mutex("x", kLong).try_acquire()), "busy");
  for (Lease& reader : readers) {
    EXPECT_EQ(told(reader.renew()), "granted");
    EXPECT_EQ(told(reader.release()), "granted");
  }
  const Result<Lease> writer = other_.shared_mutex("x", kLong).try_acquire_for(1s);
  ASSERT_EQ(told(writer), "granted");
  EXPECT_GT(writer->token(), last);
  EXPECT_EQ(outcome_of(client_.shared_mutex("x", kLong).try_acquire_shared()), "busy");
}

TEST_F(RedlockShared, ReadersThatComeAtTheSameInstantHaveTokensOfTheirOwn) {
  constexpr int kThreads = 6;
  constexpr int kRounds = 15;
  std::mutex mutex;
  std::set<Token> tokens;
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      Client client = open(masters_.url());
      for (int i = 0; i < kRounds; ++i) {
        Result<Lease> reader = client.shared_mutex("x", kLong).try_acquire_shared_for(10s);
        ASSERT_EQ(told(reader), "granted");
        const std::lock_guard lock(mutex);
        ASSERT_TRUE(tokens.insert(reader->token()).second) << "a token that another reader has";
      }
    });
  }
  threads.clear();
  EXPECT_EQ(tokens.size(), static_cast<std::size_t>(kThreads * kRounds));
}

TEST_F(RedlockShared, AWriterIsNotStarvedByReadersThatKeepComing) {
  std::atomic<bool> over = false;
  std::vector<std::jthread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      Client client = open(masters_.url());
      while (!over) {
        const Result<Lease> reader = client.shared_mutex("x", kLong).try_acquire_shared_for(10s);
        EXPECT_EQ(told(reader), "granted");
        pause_for(3ms);
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return client_.inspect("x").value().holders.size() > 1; }));
  const BootTime begun = BootClock::now();
  for (int i = 0; i < 3; ++i) {
    const Result<Lease> writer = other_.shared_mutex("x", kLong).try_acquire_for(10s);
    EXPECT_EQ(told(writer), "granted");
  }
  EXPECT_LT(since(begun), 10s);
  over = true;
}

TEST_F(RedlockShared, NobodyReadsWhileSomebodyWrites) {
  std::atomic<int> readers = 0;
  std::atomic<int> writers = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      Client client = open(masters_.url());
      SharedMutex mutex = client.shared_mutex("x", kLong);
      for (int round = 0; round < 10; ++round) {
        const bool writes = (t + round) % 3 == 0;
        Result<Lease> lease =
            writes ? mutex.try_acquire_for(20s) : mutex.try_acquire_shared_for(20s);
        ASSERT_EQ(told(lease), "granted");
        ++(writes ? writers : readers);
        EXPECT_TRUE(writers == 0 || (writers == 1 && readers == 0))
            << writers << " write and " << readers << " read";
        --(writes ? writers : readers);
      }
    });
  }
  threads.clear();
  expect_free_soon(client_, "x", 1s);
}

TEST_F(RedlockShared, ReadersAndWritersGetOnWhileAMinorityIsDown) {
  at(2).kill();
  Result<Lease> a = client_.shared_mutex("x", kLong).try_acquire_shared();
  Result<Lease> b = other_.shared_mutex("x", kLong).try_acquire_shared();
  ASSERT_EQ(told(a), "granted");
  ASSERT_EQ(told(b), "granted");
  Pending writer = in_thread([&] { return client_.shared_mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return waiters(other_, "x") == 1; }));
  ASSERT_EQ(told(a->release()), "granted");
  EXPECT_FALSE(contract::is_ready(writer));
  const BootTime released = BootClock::now();
  ASSERT_EQ(told(b->release()), "granted");
  ASSERT_TRUE(arrives(writer));
  EXPECT_EQ(told(writer.get()), "granted");
  EXPECT_LT(since(released), 1s);
}

TEST_F(RedlockShared, AReaderKeepsItsLeaseWhenOneNodeForgetsIt) {
  Result<Lease> reader = client_.shared_mutex("x", {.ttl = 900ms}).try_acquire_shared();
  ASSERT_EQ(told(reader), "granted");
  at(1).command({"FLUSHALL"});
  for (int renewals = 0; renewals < 3; ++renewals) {
    const BootTime before = reader->valid_until();
    ASSERT_TRUE(eventually([&] { return reader->valid_until() > before; }));
  }
  EXPECT_TRUE(reader->held());
  EXPECT_EQ(outcome_of(other_.shared_mutex("x", kLong).try_acquire()), "busy");
  EXPECT_EQ(told(reader->release()), "granted");
}

}  // namespace
}  // namespace holdfast::redlock_tests
