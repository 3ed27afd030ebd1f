// lost() is triggered before valid_until, whatever blocks: callbacks, the disk, the server, a lack of threads.
#include <latch>

#include "contract.h"
#include "faults.h"
#include "played_engine.h"
#include "redis_server.h"
#include "temp_dir.h"

namespace holdfast::core_tests {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using contract::eventually;

double ms(Duration span) { return std::chrono::duration<double, std::milli>(span).count(); }

// How long before their valid_until the losses were told, the latest of them; polls, so that no callback is
// needed to know it.
Duration worst_margin(const std::vector<Lease>& leases) {
  std::vector<std::stop_token> waiting;
  std::vector<BootTime> ends;
  for (const Lease& lease : leases) {
    waiting.push_back(lease.lost());
    ends.push_back(lease.valid_until());
  }
  Duration worst = Duration::max();
  for (std::size_t left = waiting.size(); left > 0; std::this_thread::sleep_for(200us)) {
    for (std::size_t i = 0; i < left;) {
      const BootTime now = BootClock::now();
      if (!waiting[i].stop_requested()) {
        if (now > ends[i] + 5s) return ends[i] - now;
        ++i;
        continue;
      }
      worst = std::min(worst, ends[i] - now);
      --left;
      std::swap(waiting[i], waiting[left]);
      std::swap(ends[i], ends[left]);
    }
  }
  return worst;
}

TEST(Loss, CallbacksThatBlockOnAStoppedServerDelayNoOtherLease) {
  test::RedisServer server;
  Client client = Client::open(server.url()).value();
  std::vector<Lease> leases;
  for (int i = 0; i < 5; ++i) {
    Mutex mutex = client.mutex("lock" + std::to_string(i), {.ttl = 3s});
    leases.push_back(mutex.acquire().value());
  }
  struct Told {
    BootTime at;
    std::atomic<bool> done = false;
  };
  std::vector<Told> told(leases.size());
  std::vector<std::unique_ptr<std::stop_callback<std::function<void()>>>> callbacks;
  std::vector<BootTime> ends(leases.size());
  server.pause();
  for (std::size_t i = 0; i < leases.size(); ++i) {
    callbacks.push_back(
        std::make_unique<std::stop_callback<std::function<void()>>>(leases[i].lost(), [&, i] {
          told[i].at = BootClock::now();
          ends[i] = leases[i].valid_until();
          static_cast<void>(leases[i].release());  // blocks: nobody answers
          told[i].done = true;
        }));
  }
  for (Told& one : told) EXPECT_TRUE(eventually([&] { return one.done.load(); }));
  for (std::size_t i = 0; i < told.size(); ++i) {
    EXPECT_LT(told[i].at, ends[i])
        << "lease " << i << " was told of its loss " << ms(told[i].at - ends[i]) << " ms too late";
  }
  callbacks.clear();
}

TEST(Loss, TenThousandLeasesWhoseCallbacksAllBlockAreToldInTime) {
  constexpr int kLeases = 10'000;
  Client client = open_played(std::make_shared<Script>());
  std::latch may_return(1);
  std::atomic<int> inside = 0;
  std::vector<Lease> leases;
  std::vector<std::unique_ptr<std::stop_callback<std::function<void()>>>> callbacks;
  // Half of the ttl to take the locks in, and half of it to start 10,000 threads in.
  const LockOptions options{.ttl = 8s, .warn_before = 4s, .auto_renew = false};
  for (int i = 0; i < kLeases; ++i) {
    leases.push_back(client.mutex("lock" + std::to_string(i), options).acquire().value());
    callbacks.push_back(
        std::make_unique<std::stop_callback<std::function<void()>>>(leases.back().lost(), [&] {
          ++inside;
          may_return.wait();
        }));
  }
  const Duration margin = worst_margin(leases);
  EXPECT_GT(margin, Duration(0));
  std::cout << "the last of " << kLeases << " losses was told " << ms(margin)
            << " ms before its valid_until\n";
  EXPECT_TRUE(eventually([&] { return inside == kLeases; }));
  may_return.count_down();
  callbacks.clear();
}

TEST(Loss, ALeaseThatNobodyListensToEndsWithoutAThreadOfItsOwn) {
  const auto script = std::make_shared<Script>();
  Client client = open_played(script);
  std::vector<Lease> leases;
  const LockOptions options{.ttl = 400ms, .auto_renew = false};
  for (int i = 0; i < 100; ++i) {
    leases.push_back(client.mutex("lock" + std::to_string(i), options).acquire().value());
  }
  const During no_more_threads(threads_left, 0);
  std::this_thread::sleep_until(leases.back().valid_until());
  for (const Lease& lease : leases) {
    EXPECT_FALSE(lease.held());
    EXPECT_TRUE(lease.lost().stop_requested());  // asked for now, triggered long ago
  }
}

TEST(Loss, AStalledDiskDelaysNoLoss) {
  const test::TempDir folder;
  Client client =
      Client::open("sqlite://" + (folder.path() / "locks.db").string() + "?sync=full").value();
  Lease lease = client.mutex("x", {.ttl = 2s}).acquire().value();
  const std::stop_token lost = lease.lost();
  const During stalled(disk_stall, 6000ms);
  // The next renewal is stuck in the disk, inside the loop.
  const BootTime limit = lease.valid_until() + 3s;
  while (!lost.stop_requested() && BootClock::now() < limit) std::this_thread::sleep_for(500us);
  EXPECT_LT(BootClock::now(), lease.valid_until());
}

TEST(Loss, WithoutAThreadToWatchItNoLeaseIsHandedOut) {
  test::RedisServer server;
  Client client = Client::open(server.url()).value();
  Mutex mutex = client.mutex("x", {.ttl = 30s});
  {
    const During no_threads(threads_left, 0);
    const Result<Lease> lease = mutex.try_acquire();
    ASSERT_EQ(contract::outcome_of(lease), "exhausted");
    EXPECT_THAT(lease.message(), testing::HasSubstr("pids.max"));
    EXPECT_EQ(contract::outcome_of(client.mutex("y").acquire()), "exhausted");
  }
  // Nothing is held, and the client works.
  Client other = Client::open(server.url()).value();
  EXPECT_TRUE(other.inspect("x").value().holders.empty());
  EXPECT_EQ(contract::why(mutex.try_acquire()), "");
}

// Renewal needs a thread, too. Whichever of our threads cannot be had: the call fails, or the loss is told.
TEST(Loss, AnyNumberOfMissingThreadsLeavesNoLeaseThatLies) {
  test::RedisServer server;
  for (int allowed = 0; allowed < 4; ++allowed) {
    SCOPED_TRACE(std::to_string(allowed) + " threads");
    Client client = Client::open(server.url()).value();
    const During few_threads(threads_left, allowed);
    Result<Lease> lease = client.mutex("x", {.ttl = 1s}).try_acquire();
    if (!lease) {
      EXPECT_EQ(contract::outcome_of(lease), "exhausted");
      continue;
    }
    const BootTime watched_until = BootClock::now() + 1500ms;
    while (BootClock::now() < watched_until && !lease->lost().stop_requested()) {
      ASSERT_LT(BootClock::now(), lease->valid_until()) << "nobody was told of the end";
      std::this_thread::sleep_for(500us);
    }
    // Renewed until now, or told in time; and the next call does not hang.
    EXPECT_EQ(contract::why(client.ping()), "");
  }
}

TEST(Loss, ACallbackMayDestroyItsLeaseAndItsClient) {
  std::atomic<bool> told = false;
  {
    auto client = std::make_unique<Client>(open_played(std::make_shared<Script>()));
    auto lease = std::make_unique<Lease>(
        client->mutex("x", {.ttl = 300ms, .auto_renew = false}).acquire().value());
    const std::stop_callback callback(lease->lost(), [&] {
      lease.reset();
      client.reset();
      told = true;
    });
    EXPECT_TRUE(eventually([&] { return told.load(); }));
  }
}

}  // namespace
}  // namespace holdfast::core_tests
