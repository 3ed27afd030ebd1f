// Many threads and many processes on one name, with a resource that notices every overlap.
#include "child.h"
#include "child/critical_section.h"
#include "contract.h"

namespace holdfast::contract {

HOLDFAST_CONTRACT(ManyTest);

TEST_P(ManyTest, ThreadsOfOneClientNeverOverlap) {
  const TempDir folder;
  CriticalSection section(folder.path() / "section");
  Client client = open();
  Mutex mutex = client.mutex("x");
  constexpr int kEach = 25;
  std::vector<std::thread> threads;
  for (int i = 0; i < engine().threads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kEach; ++round) {
        Result<Lease> lease = mutex.acquire();
        ASSERT_EQ(outcome_of(lease), "granted");
        section.pass(lease->token().value());
        EXPECT_EQ(outcome_of(lease->release()), "granted");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(section.state().overlaps, 0U);
  if (engine().increasing_tokens) {
    EXPECT_EQ(section.state().disorder, 0U);
  }
  EXPECT_EQ(std::uint64_t{section.state().counter}, std::uint64_t(engine().threads) * kEach);
  expect_nothing_left(client, "x");
}

TEST_P(ManyTest, ThreadsOfOneClientOnManyNamesAllGetThrough) {
  Client client = open();
  std::vector<std::thread> threads;
  std::atomic<int> granted = 0;
  for (int i = 0; i < engine().threads; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 10; ++round) {
        const std::string name = "x" + std::to_string((i * 7 + round) % 16);
        if (client.mutex(name).acquire()) ++granted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(granted, engine().threads * 10);
  EXPECT_TRUE(client.list().value().empty());
}

TEST_P(ManyTest, ProcessesNeverOverlapAndTokensGrowInGrantOrder) {
  HOLDFAST_NEEDS(between_processes);
  const TempDir folder;
  const std::filesystem::path file = folder.path() / "section";
  CriticalSection section(file);
  Client client = open();
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  const int each = engine().sections_per_process / 5;
#else
  const int each = engine().sections_per_process;
#endif
  std::vector<Child> children;
  for (int i = 0; i < engine().processes; ++i) {
    children.emplace_back(url()).send("sections x " + file.string() + " " + std::to_string(each));
  }
  section.state().go = 1;
  for (Child& child : children) EXPECT_EQ(child.answer(), "done 0");
  EXPECT_EQ(section.state().overlaps, 0U);
  if (engine().increasing_tokens) {
    EXPECT_EQ(section.state().disorder, 0U);
  }
  EXPECT_EQ(std::uint64_t{section.state().counter}, std::uint64_t(engine().processes) * each);
  for (Child& child : children) EXPECT_EQ(child.finish(), 0);
  expect_nothing_left(client, "x");
}

TEST_P(ManyTest, AThousandWaitersOfOneClientAreAllServed) {
  // Where a lock lives in a connection, each of them has one: then a few hundred.
  const int kWaiters = engine().outlives_process ? 1000 : 200;
  Client client = open();
  Mutex mutex = client.mutex("x");
  Lease first = mutex.acquire().value();
  // Shared with callbacks that come after a failure has ended the test.
  const auto served = std::make_shared<std::atomic<int>>(0);
  for (int i = 0; i < kWaiters; ++i) {
    mutex.async_acquire().then([served](Result<Lease> lease) {
      EXPECT_EQ(outcome_of(lease), "granted") << (lease ? "" : lease.message());
      ++*served;
    });
  }
  EXPECT_TRUE(queue_reaches(client, "x", static_cast<std::size_t>(kWaiters)));
  ASSERT_TRUE(first.release());
  EXPECT_TRUE(eventually([&] { return *served == kWaiters; })) << *served;
  EXPECT_TRUE(eventually([&] { return holders(client, "x") == 0; }));
}

}  // namespace holdfast::contract
