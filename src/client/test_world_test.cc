// The test kit, used as its users do: no server, no real seconds.
#include "holdfast/testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "holdfast/holdfast.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

template <class T>
std::string outcome_of(const Result<T>& result) {
  return result ? "granted" : code_name(result.code());
}

// ---- The clock ---------------------------------------------------------------------------------

TEST(TestWorld, ItsClockStandsStillUntilItIsAdvanced) {
  TestWorld world;
  const BootTime before = world.now();
  Client client = world.client();
  const Lease lease = client.mutex("x").acquire().value();
  EXPECT_EQ(world.now(), before);
  world.advance(5s);
  EXPECT_EQ(world.now(), before + 5s);
}

TEST(TestWorld, LeasesAreRenewedAsTheClockIsAdvanced) {
  TestWorld world;
  Client client = world.client();
  const Lease lease = client.mutex("x", {.ttl = 30s}).acquire().value();
  const BootTime first_end = lease.valid_until();
  world.advance(1h);
  EXPECT_TRUE(lease.held());
  EXPECT_FALSE(lease.lost().stop_requested());
  EXPECT_GT(lease.valid_until(), first_end + 59min);
}

TEST(TestWorld, ALeaseThatIsNotRenewedIsLostBeforeItsEndAndTheLockFreeAtIt) {
  TestWorld world;
  Client client = world.client();
  const Lease lease = client.mutex("x", {.ttl = 30s, .auto_renew = false}).acquire().value();
  int told = 0;
  BootTime told_at;
  const std::stop_callback callback(lease.lost(), [&] {
    ++told;
    told_at = world.now();
  });
  world.advance(20s);
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(told, 0);
  world.advance(10s - 1ns);
  EXPECT_FALSE(lease.held());
  EXPECT_TRUE(lease.lost().stop_requested());
  EXPECT_EQ(told, 1);
  EXPECT_LT(told_at, lease.valid_until());
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
  world.advance(1ns);
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "granted");
}

TEST(TestWorld, AProcessThatSleptTooLongHasLostItsLease) {
  TestWorld world;
  Client client = world.client();
  Lease lease = client.mutex("x", {.ttl = 30s}).acquire().value();
  world.pause(9s);
  EXPECT_TRUE(lease.held());
  world.pause(30s);
  EXPECT_FALSE(lease.held());
  EXPECT_TRUE(lease.lost().stop_requested());
  EXPECT_EQ(outcome_of(lease.release()), "not_held");
}

TEST(TestWorld, ATimedWaitOfTheOnlyThreadIsOverWithoutRealTime) {
  TestWorld world;
  Client client = world.client();
  const Lease lease = client.mutex("x").acquire().value();
  const BootTime before = world.now();
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire_for(5h)), "busy");
  EXPECT_EQ(world.now(), before + 5h);
  EXPECT_TRUE(lease.held());
}

TEST(TestWorld, AWaitThatNothingEndsSaysSo) {
  TestWorld world;
  Client client = world.client();
  const Lease lease = client.mutex("x").acquire().value();
  const Result<Lease> second = client.mutex("x").acquire();
  EXPECT_EQ(outcome_of(second), "would_deadlock");
  EXPECT_THAT(second.message(), testing::HasSubstr("hold_clock"));
  EXPECT_TRUE(client.inspect("x").value().waiters.empty());
  EXPECT_TRUE(lease.held());
}

TEST(TestWorld, AWaiterGetsTheLockAtTheVeryMomentAtWhichTheHolderEnds) {
  TestWorld world;
  Client client = world.client();
  Client other = world.client();
  const Lease fading = client.mutex("x", {.ttl = 30s, .auto_renew = false}).acquire().value();
  const BootTime before = world.now();
  const Lease lease = other.mutex("x").acquire().value();
  EXPECT_EQ(world.now(), before + 30s);
  EXPECT_GT(lease.token(), fading.token());
  EXPECT_GT(lease.valid_until(), world.now() + 29s) << "its whole ttl";
}

TEST(TestWorld, AHeldClockDoesNotMoveThoughEverybodyWaits) {
  TestWorld world;
  world.hold_clock();
  Client client = world.client();
  Lease lease = client.mutex("x").acquire().value();
  const BootTime before = world.now();
  std::stop_source stop;
  // It never used the world before.
  std::thread canceller([&] {
    std::this_thread::sleep_for(20ms);
    stop.request_stop();
  });
  EXPECT_EQ(outcome_of(client.mutex("x").acquire(stop.get_token())), "cancelled");
  EXPECT_EQ(world.now(), before);
  canceller.join();
}

TEST(TestWorld, TokensBeginAtOneInEach) {
  for (int i = 0; i < 2; ++i) {
    TestWorld world;
    Client client = world.client();
    EXPECT_EQ(client.mutex("x").acquire().value().token(), Token(1));
    EXPECT_EQ(client.mutex("x").acquire().value().token(), Token(2));
    EXPECT_EQ(client.guarantees().token, TokenStrength::volatile_memory);
  }
}

// ---- Threads -----------------------------------------------------------------------------------

TEST(TestWorld, ABlockedThreadIsServedByAReleaseOfAnother) {
  TestWorld world;
  Client client = world.client();
  Client other = world.client();
  Lease lease = client.mutex("x").acquire().value();
  auto waiting = std::async(std::launch::async, [&] { return other.mutex("x").acquire(); });
  world.await_waiting(1);
  EXPECT_EQ(client.inspect("x").value().waiters.size(), 1U);
  const BootTime before = world.now();
  EXPECT_TRUE(lease.release());
  EXPECT_EQ(outcome_of(waiting.get()), "granted");
  EXPECT_EQ(world.now(), before);
}

TEST(TestWorld, ManyThreadsNeverHoldTogetherAndAllGetThrough) {
  TestWorld world;
  int inside = 0;
  int served = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      Client client = world.client();
      for (int round = 0; round < 50; ++round) {
        const Lease lease = client.mutex("x").acquire().value();
        EXPECT_EQ(++inside, 1);
        ++served;
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served, 400);
}

TEST(TestWorld, ACallbackMayUseTheWorldAndWaitInIt) {
  TestWorld world;
  Client client = world.client();
  Lease lease = client.mutex("x", {.ttl = 30s}).acquire().value();
  const Lease other = client.mutex("y", {.ttl = 10s, .auto_renew = false}).acquire().value();
  std::string heard;
  {
    const std::stop_callback callback(
        lease.lost(), [&] { heard = outcome_of(client.mutex("y").try_acquire_for(1min)); });
    world.lose("x");
    EXPECT_EQ(heard, "") << "it waits for the clock";
    world.advance(10s);
  }
  EXPECT_EQ(heard, "granted");
}

TEST(TestWorld, AsynchronousCallsEndAsTheClockIsAdvanced) {
  TestWorld world;
  Client client = world.client();
  const Lease lease = client.mutex("x").acquire().value();
  std::string heard;
  client.mutex("x").async_try_acquire_for(5s).then(
      [&](const Result<Lease>& result) { heard = outcome_of(result); });
  world.advance(4s);
  EXPECT_EQ(heard, "");
  world.advance(1s);
  EXPECT_EQ(heard, "busy");
}

TEST(TestWorld, CallsOfTheWorldInsideTheLoopAreRefused) {
  TestWorld world;
  Client client = world.client();
  std::string blocking;
  std::string thrown;
  const auto body = [&]() -> Task<void> {
    const Result<Lease> inner = client.mutex("x").try_acquire();
    blocking = outcome_of(inner);
    const std::vector<std::function<void()>> calls{
        [&] { world.advance(1s); },     [&] { world.pause(1s); },    [&] { world.lose("x"); },
        [&] { world.server_down(); },   [&] { world.hold_clock(); }, [&] { world.client(); },
        [&] { world.await_waiting(0); }};
    for (const auto& call : calls) {
      try {
        call();
        thrown += "nothing ";
      } catch (const LockError& error) {
        thrown += error.code() == Code::would_deadlock ? "" : code_name(error.code());
      }
    }
    const Result<Lease> own = co_await client.mutex("x").async_acquire();
    EXPECT_TRUE(own);
  };
  client.run(body());
  EXPECT_EQ(blocking, "would_deadlock");
  EXPECT_EQ(thrown, "") << "all but would_deadlock";
}

// ---- Recipes -----------------------------------------------------------------------------------

TEST(TestWorld, AnElectionsObserverIsToldOfTheNextLeader) {
  TestWorld world;
  Client client = world.client();
  Client other = world.client();
  Lease first = client.election("e").campaign("one").value();
  auto next =
      std::async(std::launch::async, [&] { return other.election("e").observe(first.token()); });
  world.await_waiting(1);
  const BootTime before = world.now();
  EXPECT_TRUE(first.release());
  const Result<Leader> nobody = next.get();
  ASSERT_TRUE(nobody);
  EXPECT_EQ(nobody->token, Token());
  EXPECT_EQ(world.now(), before) << "it was told, and did not ask again and again";
}

TEST(TestWorld, AHandleIsAdoptedByAnotherClientAndEndsWithItsTtlOtherwise) {
  TestWorld world;
  Client client = world.client();
  Client other = world.client();
  const Handle handle = client.mutex("x", {.ttl = 30s}).acquire().value().detach().value();
  {
    const Lease adopted = other.adopt(handle, {.ttl = 30s}).value();
    world.advance(5min);
    EXPECT_TRUE(adopted.held());
  }
  const Handle left = client.mutex("x", {.ttl = 30s}).acquire().value().detach().value();
  world.advance(30s);
  EXPECT_EQ(outcome_of(other.adopt(left)), "not_held");
}

TEST(TestWorld, AForkedChildIsRefusedAndHarmsNothing) {
  TestWorld world;
  Client client = world.client();
  Lease lease = client.mutex("x").acquire().value();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const bool refused = outcome_of(client.mutex("y").try_acquire()) == "forked";
    _exit(refused && !lease.held() && lease.lost().stop_requested() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(lease.release());
}

TEST(TestWorld, TheWorldMayGoBeforeItsClientsAndLeases) {
  auto world = std::make_unique<TestWorld>();
  std::optional<Client> client = world->client();
  Lease lease = client->mutex("x").acquire().value();
  world.reset();
  client.reset();
  EXPECT_TRUE(lease.held());
  EXPECT_TRUE(lease.release());
}

}  // namespace
}  // namespace holdfast
