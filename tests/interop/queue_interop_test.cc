// Curator, kazoo, `etcdctl lock` and etcd's Go package, each with ours in one queue: whoever holds
// keeps the other out, who came first is served first, and the dead do not stop the living.
#include "queue_interop.h"

#include <algorithm>
#include <string_view>
#include <thread>

#include "crowd.h"

namespace holdfast::interop {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using contract::Child;
using testing::StartsWith;

using Engine = QueuePeer::Engine;

const QueuePeer kCurator{.name = "curator",
                         .engine = Engine::zookeeper,
                         .letter = 'c',
                         .passes = 600,
                         .sees_readers = false};
const QueuePeer kKazoo{.name = "kazoo", .engine = Engine::zookeeper, .letter = 'k', .passes = 600};
// Its waiters get an event late (README.md), so these take their time.
const QueuePeer kGo{.name = "etcd-go", .engine = Engine::etcd, .letter = 'g', .passes = 300};
// A process for each pass.
const QueuePeer kEtcdctl{.name = "etcdctl",
                         .engine = Engine::etcd,
                         .letter = 'e',
                         .passes = 100,
                         .share = 50,
                         .can_be_stopped = false};

class PeerTest : public QueueInteropTest, public testing::WithParamInterface<QueuePeer> {
 protected:
  PeerTest() : QueueInteropTest(GetParam().engine) {}

  Child& us(int number = 0) { return shared("holdfast", number); }
  Child& them(int number = 0) { return shared(GetParam().name, number); }
  Child mortal_us() const { return fresh("holdfast"); }
  Child mortal_them() const { return fresh(GetParam().name); }

  std::string acquire(Duration ttl = kLongTtl) const { return ask_for("acquire", ttl); }
  std::string attempt(Duration ttl = kLongTtl) const { return ask_for("try", ttl); }
};

// ---- Keeping out, letting in --------------------------------------------------------------------

TEST_P(PeerTest, ThePeerIsKeptOutUntilWeRelease) {
  ASSERT_THAT(us().ask(acquire()), StartsWith("granted"));
  EXPECT_EQ(them().ask(attempt()), "busy");
  EXPECT_EQ(us().ask("release"), "ok");
  EXPECT_EQ(them().ask(acquire()), "granted");
  EXPECT_EQ(them().ask("release"), "ok");
}

TEST_P(PeerTest, WeAreKeptOutUntilThePeerReleases) {
  ASSERT_EQ(them().ask(acquire()), "granted");
  EXPECT_EQ(us().ask(attempt()), "busy");
  EXPECT_EQ(them().ask("release"), "ok");
  EXPECT_THAT(us().ask(acquire()), StartsWith("granted"));
  EXPECT_EQ(us().ask("release"), "ok");
}

// Also: what is tried and not got leaves nothing behind for the others to wait for.
TEST_P(PeerTest, WhoGivesUpLeavesNothingInTheQueue) {
  ASSERT_THAT(us().ask(acquire()), StartsWith("granted"));
  EXPECT_EQ(them().ask(attempt()), "busy");
  EXPECT_EQ(us(1).ask(attempt()), "busy");
  wait_for_queue_of(1);
  EXPECT_EQ(us().ask("release"), "ok");
  wait_for_queue_of(0);
}

// One after the other comes to wait, ours and theirs in turn; they get in as they came.
TEST_P(PeerTest, WhoCameFirstIsServedFirst) {
  constexpr int kEach = 3;
  ASSERT_THAT(us(kEach).ask(acquire()), StartsWith("granted"));
  std::vector<Child*> waiters;
  for (int i = 0; i < kEach; ++i) {
    for (Child* waiter : {&them(i), &us(i)}) {
      waiter->send(acquire());
      waiters.push_back(waiter);
      wait_for_queue_of(waiters.size() + 1);
    }
  }
  Child* holder = &us(kEach);
  for (Child* waiter : waiters) {
    const BootTime released = BootClock::now();
    ASSERT_EQ(holder->ask("release"), "ok");
    ASSERT_THAT(waiter->answer(), StartsWith("granted"));
    EXPECT_LT(BootClock::now() - released, kSoon);
    holder = waiter;
  }
  EXPECT_EQ(holder->ask("release"), "ok");
}

TEST_P(PeerTest, OurReadersAndPermitsKeepThePeerOutToTheLast) {
  for (const char* verb : {"permit", "shared"}) {
    if (std::string_view(verb) == "shared" && !GetParam().sees_readers) continue;  // README.md
    ASSERT_THAT(us(0).ask(ask_for(verb, kLongTtl)), StartsWith("granted")) << verb;
    ASSERT_THAT(us(1).ask(ask_for(verb, kLongTtl)), StartsWith("granted")) << verb;
    EXPECT_EQ(them().ask(attempt()), "busy") << verb;
    ASSERT_EQ(us(0).ask("release"), "ok") << verb;
    EXPECT_EQ(them().ask(attempt()), "busy") << verb;
    them().send(acquire());
    wait_for_queue_of(2);
    ASSERT_EQ(us(1).ask("release"), "ok") << verb;
    ASSERT_EQ(them().answer(), "granted") << verb;
    ASSERT_EQ(them().ask("release"), "ok") << verb;
  }
}

TEST_P(PeerTest, OurWaitingReadersAllGetInSoonAfterThePeersRelease) {
  ASSERT_EQ(them().ask(acquire()), "granted");
  us(0).send(ask_for("shared", kLongTtl));
  us(1).send(ask_for("shared", kLongTtl));
  wait_for_queue_of(3);
  const BootTime released = BootClock::now();
  ASSERT_EQ(them().ask("release"), "ok");
  EXPECT_THAT(us(0).answer(), StartsWith("granted"));
  EXPECT_THAT(us(1).answer(), StartsWith("granted"));
  EXPECT_LT(BootClock::now() - released, kSoon);
  EXPECT_EQ(us(0).ask("release"), "ok");
  EXPECT_EQ(us(1).ask("release"), "ok");
}

TEST_P(PeerTest, OurTokensGrowAcrossThePeersLocks) {
  std::uint64_t last = 0;
  for (int round = 0; round < 5; ++round) {
    const std::string answer = us().ask(acquire());
    ASSERT_THAT(answer, StartsWith("granted"));
    EXPECT_GT(token_of(answer), last);
    last = token_of(answer);
    ASSERT_EQ(us().ask("release"), "ok");
    ASSERT_EQ(them().ask(acquire()), "granted");
    ASSERT_EQ(them().ask("release"), "ok");
  }
}

// ---- Death --------------------------------------------------------------------------------------

TEST_P(PeerTest, AKilledPeersLockIsOursAfterItsTtlAndNotBefore) {
  Child victim = mortal_them();
  const BootTime before = BootClock::now();
  ASSERT_EQ(victim.ask(acquire(kShortTtl)), "granted");
  victim.kill();
  const BootTime killed = BootClock::now();
  ASSERT_THAT(us().ask(acquire()), StartsWith("granted"));
  const BootTime granted = BootClock::now();
  EXPECT_GE(granted - before, kShortTtl);
  EXPECT_LT(granted - killed, kShortTtl + kSoon);
  EXPECT_EQ(us().ask("release"), "ok");
}

TEST_P(PeerTest, OurKilledHoldersLockIsThePeersAfterItsTtlAndNotBefore) {
  Child victim = mortal_us();
  const BootTime before = BootClock::now();
  ASSERT_THAT(victim.ask(acquire(kShortTtl)), StartsWith("granted"));
  victim.kill();
  const BootTime killed = BootClock::now();
  ASSERT_EQ(them().ask(acquire()), "granted");
  const BootTime granted = BootClock::now();
  EXPECT_GE(granted - before, kShortTtl);
  EXPECT_LT(granted - killed, kShortTtl + kSoon);
  EXPECT_EQ(them().ask("release"), "ok");
}

// A waiter of each side dies between a holder and a waiter of either side; nobody is let in while
// the lock is held, and the queue goes on.
TEST_P(PeerTest, WaitersThatDieInTheQueueAreSkipped) {
  ASSERT_THAT(us(0).ask(acquire()), StartsWith("granted"));
  Child their_victim = mortal_them();
  their_victim.send(acquire(kShortTtl));
  wait_for_queue_of(2);
  Child our_victim = mortal_us();
  our_victim.send(acquire(kShortTtl));
  wait_for_queue_of(3);
  us(1).send(acquire());
  wait_for_queue_of(4);
  them(1).send(acquire());
  wait_for_queue_of(5);
  their_victim.kill();
  our_victim.kill();
  wait_for_queue_of(3);
  // Their nodes are gone, and those behind them have been told: they must go on waiting.
  std::this_thread::sleep_for(300ms);
  ASSERT_EQ(us(0).ask("renew 60000"), "ok");
  const std::string watched = us(2).ask(attempt());
  EXPECT_EQ(watched, "busy");
  ASSERT_EQ(us(0).ask("release"), "ok");
  EXPECT_THAT(us(1).answer(), StartsWith("granted"));
  EXPECT_EQ(us(1).ask("release"), "ok");
  EXPECT_EQ(them(1).answer(), "granted");
  EXPECT_EQ(them(1).ask("release"), "ok");
}

// ---- Expiry -------------------------------------------------------------------------------------

TEST_P(PeerTest, APeersReleaseAfterItsExpiryDoesNotFreeOurLock) {
  if (!GetParam().can_be_stopped) GTEST_SKIP() << "what would be stopped is not the library";
  Child sleeper = mortal_them();
  ASSERT_EQ(sleeper.ask(acquire(kShortTtl)), "granted");
  sleeper.stop();
  ASSERT_THAT(us().ask(acquire()), StartsWith("granted"));
  sleeper.resume();
  EXPECT_EQ(sleeper.ask("release"), "not_held");
  EXPECT_EQ(them().ask(attempt()), "busy");
  EXPECT_EQ(us().ask("renew 60000"), "ok") << "our lock is gone";
  EXPECT_EQ(us().ask("release"), "ok");
}

TEST_P(PeerTest, OurReleaseAfterOurExpiryDoesNotFreeThePeersLock) {
  Child sleeper = mortal_us();
  ASSERT_THAT(sleeper.ask(acquire(kShortTtl)), StartsWith("granted"));
  sleeper.stop();
  ASSERT_EQ(them().ask(acquire()), "granted");
  sleeper.resume();
  EXPECT_NE(sleeper.ask("release"), "ok");
  EXPECT_EQ(us().ask(attempt()), "busy");
  EXPECT_EQ(them().ask("renew 60000"), "ok") << "the peer's lock is gone";
  EXPECT_EQ(them().ask("release"), "ok");
}

// ---- Contention ---------------------------------------------------------------------------------

// The queue gives the same share to all that stand in it; but some take longer to come back to it
// than to get through, and `etcdctl` starts a process for that. See QueuePeer::share.
TEST_P(PeerTest, TwoOfOursAndTwoPeersNeverOverlapAndAllFinish) {
  const QueuePeer& peer = GetParam();
  Crowd crowd;
  for (int i = 0; i < 2; ++i) {
    crowd.join(fresh("holdfast"), lock(), peer.passes);
    crowd.join(fresh(peer.name), lock(), peer.passes);
  }
  crowd.run();
  for (const char who : {'h', peer.letter}) {
    const std::size_t passes = crowd.passes_while_all_contended(who);
    RecordProperty(std::string("passes_of_") + who, static_cast<int>(passes));
    EXPECT_GE(passes, static_cast<std::size_t>(2 * peer.passes / peer.share)) << who;
  }
}

// Holders and waiters of both sides are killed in the middle of it.
TEST_P(PeerTest, TheOthersGoOnWhenEitherSideIsKilled) {
  const QueuePeer& peer = GetParam();
  Crowd crowd;
  for (int i = 0; i < 2; ++i) {
    crowd.join(fresh("holdfast"), lock(), peer.passes / 2);
    crowd.join(fresh(peer.name), lock(), peer.passes / 2);
  }
  struct Victims {
    Child holder, waiter;
  };
  std::vector<Victims> sides;  // Started before: the crowd would be through by then.
  sides.push_back({mortal_us(), mortal_us()});
  sides.push_back({mortal_them(), mortal_them()});
  crowd.begin();
  for (auto& [holder, waiter] : sides) {
    ASSERT_THAT(holder.ask(acquire(kShortTtl)), StartsWith("granted"));
    waiter.send(acquire(kShortTtl));
    wait_for_queue_of(2 + 4);
    waiter.kill();
    holder.kill();
  }
  crowd.finish();
}

const auto peer_name = [](const auto& peer) {
  std::string name = peer.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
};
INSTANTIATE_TEST_SUITE_P(ZooKeeperInterop, PeerTest, testing::Values(kCurator, kKazoo), peer_name);
INSTANTIATE_TEST_SUITE_P(EtcdInterop, PeerTest, testing::Values(kGo, kEtcdctl), peer_name);

// ---- All at once --------------------------------------------------------------------------------

class AllPeersTest : public QueueInteropTest, public testing::WithParamInterface<Engine> {
 protected:
  AllPeersTest() : QueueInteropTest(GetParam()) {}
};

TEST_P(AllPeersTest, OneOfEachLibraryNeverOverlapAndAllFinish) {
  const bool zookeeper = GetParam() == Engine::zookeeper;
  Crowd crowd;
  crowd.join(fresh("holdfast"), lock(), 500);
  // Curator does not understand kazoo's own names (README.md).
  crowd.join(fresh(zookeeper ? "curator" : "etcd-go"), lock(), zookeeper ? 500 : 200);
  crowd.join(fresh(zookeeper ? "kazoo-curator-names" : "etcdctl"), lock(), zookeeper ? 500 : 100);
  crowd.run();
}

INSTANTIATE_TEST_SUITE_P(ZooKeeperInterop, AllPeersTest, testing::Values(Engine::zookeeper),
                         [](const auto&) { return "all"; });
INSTANTIATE_TEST_SUITE_P(EtcdInterop, AllPeersTest, testing::Values(Engine::etcd),
                         [](const auto&) { return "all"; });

}  // namespace holdfast::interop
