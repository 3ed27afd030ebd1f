#include "holdfast/deadlock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>

namespace holdfast {
namespace {

using std::chrono::seconds;

ClaimId id_of(std::uint64_t number) {
  std::array<std::uint8_t, ClaimId::kBytes> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(number >> (8 * i));
  return ClaimId(bytes);
}

// A lock, written as a sentence: lock("a").held_by("x").wanted_by("y", 3).
class LockBuilder {
 public:
  explicit LockBuilder(const std::string& name, std::uint32_t permits = 0) : info_{.name = name} {
    info_.permits = permits;
    mode_ = permits > 0 ? Mode::permit : Mode::exclusive;
  }

  LockBuilder& shared() { return mode_ = Mode::shared, *this; }
  LockBuilder& exclusive() { return mode_ = Mode::exclusive, *this; }
  LockBuilder& permit() { return mode_ = Mode::permit, *this; }

  LockBuilder& held_by(const std::string& owner) {
    const auto number = static_cast<std::uint64_t>(info_.holders.size()) + 1;
    info_.holders.push_back({.id = id_of(std::hash<std::string>()(owner + "h") + number),
                             .mode = mode_,
                             .token = Token(number),
                             .label = owner + "@host",
                             .owner = owner});
    return *this;
  }

  LockBuilder& wanted_by(const std::string& owner, int waited_s = 1) {
    const auto number = static_cast<std::uint64_t>(info_.waiters.size()) + 1;
    info_.waiters.push_back({.id = id_of(std::hash<std::string>()(owner + "w") + number),
                             .mode = mode_,
                             .label = owner + "@host",
                             .owner = owner,
                             .waited_for = seconds(waited_s)});
    return *this;
  }

  operator LockInfo() const { return info_; }  // NOLINT(google-explicit-constructor): it is one

 private:
  LockInfo info_;
  Mode mode_;
};

LockBuilder lock(const std::string& name) { return LockBuilder(name); }
LockBuilder semaphore(const std::string& name, std::uint32_t permits) {
  return LockBuilder(name, permits);
}

std::vector<EngineLocks> one_engine(std::vector<LockInfo> locks) {
  return {{"redis", std::move(locks)}};
}

// The owners of each deadlock, sorted: "x y", with "?" in front of one that is only possible.
std::vector<std::string> found_in(std::span<const EngineLocks> look) {
  std::vector<std::string> all;
  for (const Deadlock& deadlock : find_deadlocks(look)) {
    std::vector<std::string> owners;
    for (const Deadlock::Owner& owner : deadlock.owners) owners.push_back(owner.owner);
    std::ranges::sort(owners);
    std::string text = deadlock.only_possible ? "?" : "";
    for (const std::string& owner : owners) text += (&owner == owners.data() ? "" : " ") + owner;
    all.push_back(text);
  }
  std::ranges::sort(all);
  return all;
}

std::vector<std::string> found_in(std::vector<LockInfo> locks) {
  return found_in(one_engine(std::move(locks)));
}

using Found = std::vector<std::string>;

TEST(Deadlocks, NothingIsFoundWhereNobodyWaits) {
  EXPECT_EQ(found_in(std::span<const EngineLocks>()), Found{});
  EXPECT_EQ(found_in({lock("a").held_by("x"), lock("b").held_by("y")}), Found{});
}

TEST(Deadlocks, TwoOwnersThatWaitForEachOther) {
  EXPECT_EQ(
      found_in({lock("a").held_by("x").wanted_by("y"), lock("b").held_by("y").wanted_by("x")}),
      Found{"x y"});
}

TEST(Deadlocks, AChainIsNoCircle) {
  EXPECT_EQ(found_in({lock("a").held_by("x").wanted_by("y"), lock("b").held_by("y").wanted_by("z"),
                      lock("c").held_by("z").wanted_by("u")}),
            Found{});
}

TEST(Deadlocks, AQueueIsNoCircle) {
  EXPECT_EQ(found_in({lock("a").held_by("x").wanted_by("y").wanted_by("z").wanted_by("u")}),
            Found{});
}

TEST(Deadlocks, ACircleAcrossThreeEngines) {
  const std::vector<EngineLocks> look{{"redis", {lock("a").held_by("x").wanted_by("z", 30)}},
                                      {"postgres", {lock("a").held_by("y").wanted_by("x", 5)}},
                                      {"etcd", {lock("a").held_by("z").wanted_by("y", 20)}}};
  const std::vector<Deadlock> found = find_deadlocks(look);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].youngest, "x");
  ASSERT_EQ(found[0].waits.size(), 3U);
  // Along the circle, the oldest first.
  EXPECT_EQ(found[0].waits[0].owner, "z");
  EXPECT_EQ(found[0].waits[0].engine, "redis");
  EXPECT_EQ(found[0].waits[1].owner, "x");
  EXPECT_EQ(found[0].waits[1].engine, "postgres");
  EXPECT_EQ(found[0].waits[2].owner, "y");
  EXPECT_EQ(found[0].waits[2].engine, "etcd");
  EXPECT_EQ(found[0].owners[0], (Deadlock::Owner{"z", "z@host"}));
}

TEST(Deadlocks, TheSameNameInTwoEnginesIsTwoLocks) {
  const std::vector<EngineLocks> look{{"redis", {lock("a").held_by("x")}},
                                      {"postgres", {lock("a").held_by("y").wanted_by("x")}}};
  EXPECT_EQ(found_in(look), Found{});
}

TEST(Deadlocks, AWaitTellsWhatItWaitsFor) {
  const std::vector<Deadlock> found = find_deadlocks(one_engine(
      {lock("stock").held_by("x").wanted_by("y", 12), lock("ledger").held_by("y").wanted_by("x")}));
  ASSERT_EQ(found.size(), 1U);
  const Deadlock::Wait& wait = found[0].waits[0];
  EXPECT_EQ(wait.owner, "y");
  EXPECT_EQ(wait.label, "y@host");
  EXPECT_EQ(wait.engine, "redis");
  EXPECT_EQ(wait.name, Name("stock"));
  EXPECT_EQ(wait.mode, Mode::exclusive);
  EXPECT_EQ(wait.waited_for, seconds(12));
  ASSERT_EQ(wait.waits_for.size(), 1U);
  EXPECT_EQ(wait.waits_for[0].owner, "x");
  EXPECT_EQ(wait.waits_for[0].label, "x@host");
  EXPECT_EQ(wait.waits_for[0].token, Token(1));
  EXPECT_FALSE(found[0].only_possible);
}

TEST(Deadlocks, TwoCirclesAreTwoDeadlocks) {
  EXPECT_EQ(
      found_in({lock("a").held_by("x").wanted_by("y"), lock("b").held_by("y").wanted_by("x"),
                lock("c").held_by("u").wanted_by("v"), lock("d").held_by("v").wanted_by("u")}),
      (Found{"u v", "x y"}));
}

TEST(Deadlocks, TwoCirclesThroughOneOwnerAreOne) {
  EXPECT_EQ(
      found_in({lock("a").held_by("x").wanted_by("y"), lock("b").held_by("y").wanted_by("x"),
                lock("c").held_by("x").wanted_by("z"), lock("d").held_by("z").wanted_by("x")}),
      Found{"x y z"});
}

TEST(Deadlocks, ThoseBehindAreCountedButNotNamed) {
  const std::vector<Deadlock> found = find_deadlocks(
      one_engine({lock("a").held_by("x").wanted_by("y").wanted_by("p"),
                  lock("b").held_by("y").wanted_by("x").wanted_by("q"),
                  lock("c").held_by("q").wanted_by("r"), lock("d").held_by("s").wanted_by("t")}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].owners.size(), 2U);
  EXPECT_EQ(found[0].waits.size(), 2U);
  EXPECT_EQ(found[0].behind, 3U) << "p, q and r; t waits for one that can go on";
}

TEST(Deadlocks, OneThatIsBehindTwoCirclesCountsOnce) {
  const std::vector<Deadlock> found = find_deadlocks(one_engine(
      {lock("a").held_by("x").wanted_by("y").wanted_by("p"), lock("b").held_by("y").wanted_by("x"),
       lock("c").held_by("u").wanted_by("v").wanted_by("p"),
       lock("d").held_by("v").wanted_by("u")}));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].behind + found[1].behind, 1U);
}

// ---- Modes ------------------------------------------------------------------------------------

TEST(Deadlocks, AReaderDoesNotWaitForReaders) {
  EXPECT_EQ(found_in({lock("a").shared().held_by("x").wanted_by("y"),
                      lock("b").held_by("y").wanted_by("x")}),
            Found{});
}

TEST(Deadlocks, AReaderWaitsForTheWriter) {
  EXPECT_EQ(found_in({lock("a").exclusive().held_by("x").shared().wanted_by("y"),
                      lock("b").held_by("y").wanted_by("x")}),
            Found{"x y"});
}

TEST(Deadlocks, AWriterWaitsForAllReaders) {
  // z goes on, y never does.
  EXPECT_EQ(found_in({lock("a").shared().held_by("z").held_by("y").exclusive().wanted_by("x"),
                      lock("b").held_by("x").wanted_by("y")}),
            Found{"x y"});
}

TEST(Deadlocks, AReaderWaitsForAWriterAheadOfIt) {
  // y could read together with x, if w were not ahead; w waits for x, who waits for y.
  EXPECT_EQ(
      found_in({lock("a").shared().held_by("x").exclusive().wanted_by("w").shared().wanted_by("y"),
                lock("b").held_by("y").wanted_by("x")}),
      Found{"w x y"});
}

TEST(Deadlocks, AReaderDoesNotWaitForAReaderAheadOfIt) {
  // z goes on, then both readers do.
  EXPECT_EQ(found_in({lock("a").held_by("z").shared().wanted_by("x").wanted_by("y"),
                      lock("b").held_by("y").wanted_by("x")}),
            Found{});
}

TEST(Deadlocks, AWriterWaitsForReadersAheadOfIt) {
  const std::vector<Deadlock> found = find_deadlocks(one_engine(
      {lock("a").held_by("z").shared().wanted_by("x").wanted_by("u").exclusive().wanted_by("y"),
       lock("b").held_by("y").wanted_by("x").wanted_by("u")}));
  ASSERT_EQ(found.size(), 1U);
  const auto wait = std::ranges::find(found[0].waits, "y", &Deadlock::Wait::owner);
  ASSERT_NE(wait, found[0].waits.end());
  ASSERT_EQ(wait->waits_for.size(), 2U);
  EXPECT_EQ(wait->waits_for[0].owner, "u") << "the next one ahead comes first";
  EXPECT_EQ(wait->waits_for[1].owner, "x");
  EXPECT_FALSE(wait->waits_for[0].token) << "it holds nothing";
}

TEST(Deadlocks, AHolderOfAPermitKeepsAReaderOut) {
  EXPECT_EQ(found_in({semaphore("a", 5).held_by("x").shared().wanted_by("y"),
                      lock("b").held_by("y").wanted_by("x")}),
            Found{"x y"});
}

// ---- Permits ----------------------------------------------------------------------------------

TEST(Deadlocks, AnyOnePermitSuffices) {
  // z can go on: y gets its permit.
  EXPECT_EQ(found_in({semaphore("s", 2).held_by("x").held_by("z").wanted_by("y"),
                      lock("b").held_by("y").wanted_by("x")}),
            Found{});
}

TEST(Deadlocks, NoPermitComesFreeIfAllHoldersAreStuck) {
  EXPECT_EQ(found_in({semaphore("s", 2).held_by("x").held_by("z").wanted_by("y"),
                      lock("b").held_by("y").wanted_by("x").wanted_by("z")}),
            Found{"x y z"});
}

TEST(Deadlocks, AFreePermitIsOneThatNobodyWaitsFor) {
  EXPECT_EQ(found_in({semaphore("s", 3).held_by("x").held_by("z").wanted_by("y"),
                      lock("b").held_by("y").wanted_by("x").wanted_by("z")}),
            Found{});
}

TEST(Deadlocks, AStuckHolderOutsideTheCircleTakesAPermitToo) {
  // z is stuck behind another circle, so only x could give y a permit, and x waits for y.
  EXPECT_EQ(found_in({semaphore("s", 2).held_by("x").held_by("z").wanted_by("y"),
                      lock("b").held_by("y").wanted_by("x"),
                      lock("c").held_by("u").wanted_by("v").wanted_by("z"),
                      lock("d").held_by("v").wanted_by("u")}),
            (Found{"u v", "x y"}));
}

TEST(Deadlocks, AHolderWithoutAnOwnerMayGiveItsPermitBack) {
  EXPECT_EQ(found_in({semaphore("s", 2).held_by("x").held_by("").wanted_by("y"),
                      lock("b").held_by("y").wanted_by("x")}),
            Found{});
}

TEST(Deadlocks, APermitThatAWaiterAheadWillTakeIsNotFree) {
  // z goes on and gives its permit to p, who is ahead of y and then waits for y; x waits for y as well.
  EXPECT_EQ(found_in({semaphore("s", 2).held_by("x").held_by("z").wanted_by("p").wanted_by("y"),
                      lock("b").held_by("y").wanted_by("x").wanted_by("p")}),
            Found{"p x y"});
}

TEST(Deadlocks, WhereTheNumberOfPermitsIsNotToldAllAreTaken) {
  EXPECT_EQ(found_in({lock("s").permit().held_by("x").held_by("z").wanted_by("y"),
                      lock("b").held_by("y").wanted_by("x")}),
            Found{});
  EXPECT_EQ(found_in({lock("s").permit().held_by("x").wanted_by("y"),
                      lock("b").held_by("y").wanted_by("x")}),
            Found{"x y"});
}

TEST(Deadlocks, AnExclusiveClaimOnASemaphoreWaitsForAllHolders) {
  EXPECT_EQ(found_in({semaphore("s", 9).held_by("z").held_by("y").exclusive().wanted_by("x"),
                      lock("b").held_by("x").wanted_by("y")}),
            Found{"x y"});
}

// ---- Queues -----------------------------------------------------------------------------------

std::vector<EngineLocks> circle_through_a_queue() {
  // z holds a and can go on. y is behind x there, and x waits for y.
  return one_engine({lock("a").held_by("z").wanted_by("x").wanted_by("y"),
                     lock("b").held_by("y").wanted_by("x")});
}

TEST(Deadlocks, AWaiterWaitsForThoseAheadOfIt) {
  EXPECT_EQ(found_in(circle_through_a_queue()), Found{"x y"});
}

TEST(Deadlocks, WithoutAnOrderAWaiterWaitsForHoldersOnly) {
  for (const Fairness fairness : {Fairness::none, Fairness::roughly}) {
    std::vector<EngineLocks> look = circle_through_a_queue();
    look[0].fairness = fairness;
    EXPECT_EQ(found_in(look), Found{});
  }
  std::vector<EngineLocks> look = one_engine({lock("a").held_by("x").wanted_by("z").wanted_by("y"),
                                              lock("b").held_by("y").wanted_by("x")});
  look[0].fairness = Fairness::none;
  EXPECT_EQ(found_in(look), Found{"x y"});
}

TEST(Deadlocks, AWaiterDoesNotWaitForThoseBehindIt) {
  EXPECT_EQ(found_in({lock("a").held_by("z").wanted_by("x").wanted_by("y"),
                      lock("b").held_by("x").wanted_by("y")}),
            Found{});
}

TEST(Deadlocks, ALongQueueIsToldByItsNextOnly) {
  LockBuilder a = lock("a");
  a.held_by("x");
  for (int i = 0; i < 100; ++i) a.wanted_by("w" + std::to_string(i), 200 - i);
  const std::vector<Deadlock> found =
      find_deadlocks(one_engine({a, lock("b").held_by("w99").wanted_by("x", 300)}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].owners.size(), 101U);
  EXPECT_EQ(found[0].waits.size(), 101U);
  EXPECT_EQ(found[0].youngest, "w99");
  std::size_t told = 0;
  for (const Deadlock::Wait& wait : found[0].waits) told += wait.waits_for.size();
  EXPECT_EQ(told, 200U)
      << "each the holder and the one ahead; the first only the holder, and x only w99";
}

// ---- Owners -----------------------------------------------------------------------------------

TEST(Deadlocks, ClaimsWithoutAnOwnerAreLeftOut) {
  EXPECT_EQ(found_in({lock("a").held_by("").wanted_by("y"), lock("b").held_by("y").wanted_by("")}),
            Found{});
  EXPECT_EQ(found_in({lock("a").held_by("x").wanted_by("").wanted_by("y"),
                      lock("b").held_by("y").wanted_by("x")}),
            Found{"x y"});
}

TEST(Deadlocks, EqualLabelsAreNotOneOwner) {
  LockInfo a = lock("a").held_by("x").wanted_by("y");
  LockInfo b = lock("b").held_by("z").wanted_by("u");
  for (LockInfo* each : {&a, &b}) {
    each->holders[0].label = each->waiters[0].label = "the same";
  }
  EXPECT_EQ(found_in({a, b}), Found{});
}

TEST(Deadlocks, AnOwnerThatWaitsForItselfIsOnlyPossible) {
  const std::vector<EngineLocks> look = one_engine({lock("a").held_by("x").wanted_by("x", 4)});
  EXPECT_EQ(found_in(look), Found{"?x"});
  const std::vector<Deadlock> found = find_deadlocks(look);
  EXPECT_EQ(found[0].youngest, "x");
  ASSERT_EQ(found[0].waits.size(), 1U);
  EXPECT_EQ(found[0].waits[0].waits_for[0].token, Token(1));
}

TEST(Deadlocks, ThoseBehindAPossibleOneAreCounted) {
  const std::vector<Deadlock> found =
      find_deadlocks(one_engine({lock("a").held_by("x").wanted_by("y").wanted_by("x"),
                                 lock("b").held_by("y").wanted_by("z")}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].only_possible);
  EXPECT_EQ(found[0].owners.size(), 1U);
  EXPECT_EQ(found[0].behind, 2U);
}

TEST(Deadlocks, AnUpgradeWaitsForItself) {
  EXPECT_EQ(
      found_in(
          {lock("a").shared().held_by("x").held_by("y").exclusive().wanted_by("x").wanted_by("y")}),
      (Found{"?x", "?y"}));
}

TEST(Deadlocks, AReaderThatReadsAgainBehindAWriterIsPossiblyStuck) {
  EXPECT_EQ(found_in({lock("a").shared().held_by("x").exclusive().wanted_by("w").shared().wanted_by(
                "x")}),
            Found{"?w x"});
}

TEST(Deadlocks, TwoThatWantASecondPermitArePossiblyStuck) {
  EXPECT_EQ(found_in({semaphore("s", 2).held_by("x").held_by("y").wanted_by("x").wanted_by("y")}),
            Found{"?x y"});
  EXPECT_EQ(
      found_in(
          {semaphore("s", 3).held_by("x").held_by("y").held_by("z").wanted_by("x").wanted_by("y")}),
      Found{});
}

TEST(Deadlocks, AnOwnerThatWantsMorePermitsThanThereArePossiblyWaitsForItself) {
  EXPECT_EQ(found_in({semaphore("s", 2).held_by("x").held_by("x").wanted_by("x")}), Found{"?x"});
}

TEST(Deadlocks, TheThreadsOfTwoOwnersInOneQueueAreNone) {
  EXPECT_EQ(found_in({lock("a").held_by("z").wanted_by("x").wanted_by("y").wanted_by("x").wanted_by(
                "y")}),
            Found{});
}

TEST(Deadlocks, ASelfWaitDoesNotHideACertainDeadlock) {
  EXPECT_EQ(
      found_in({lock("a").held_by("x").wanted_by("y"), lock("b").held_by("y").wanted_by("x"),
                lock("c").held_by("x").wanted_by("x"), lock("d").held_by("z").wanted_by("z")}),
      (Found{"?z", "x y"}));
}

TEST(Deadlocks, APermitOfAnOwnerThatMayHaveThreadsMakesItOnlyPossible) {
  // y gets a permit when z gives its own back, which z does unless it waits for itself.
  EXPECT_EQ(
      found_in({semaphore("s", 2).held_by("x").held_by("z").wanted_by("y"),
                lock("b").held_by("y").wanted_by("x"), lock("c").held_by("z").wanted_by("z")}),
      (Found{"?x y", "?z"}));
}

TEST(Deadlocks, TheYoungestIsUnknownIfNoEngineTellsSinceWhen) {
  LockInfo a = lock("a").held_by("x").wanted_by("y");
  LockInfo b = lock("b").held_by("y").wanted_by("x");
  a.waiters[0].waited_for = {};
  b.waiters[0].waited_for = {};
  EXPECT_EQ(find_deadlocks(one_engine({a, b}))[0].youngest, "");
  a.waiters[0].waited_for = seconds(9);
  EXPECT_EQ(find_deadlocks(one_engine({a, b}))[0].youngest, "y") << "of those that are known";
}

// ---- Two looks --------------------------------------------------------------------------------

std::vector<EngineLocks> deadlock_of_two() {
  return {{"redis", {lock("a").held_by("x").wanted_by("y", 1)}},
          {"postgres", {lock("b").held_by("y").wanted_by("x", 2)}}};
}

TEST(TwoLooks, ADeadlockStays) {
  std::vector<EngineLocks> after = deadlock_of_two();
  after[0].locks[0].waiters[0].waited_for = seconds(7);
  const std::vector<Deadlock> found = confirmed(deadlock_of_two(), after);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].waits[0].waited_for, seconds(7)) << "times are those of the second look";
}

TEST(TwoLooks, AnotherWaitOfTheSameOwnerIsNotTheSame) {
  std::vector<EngineLocks> after = deadlock_of_two();
  after[0].locks[0].waiters[0].id = id_of(12345);
  EXPECT_EQ(find_deadlocks(after).size(), 1U);
  EXPECT_TRUE(confirmed(deadlock_of_two(), after).empty());
}

TEST(TwoLooks, AnotherHoldOfTheSameOwnerIsNotTheSame) {
  std::vector<EngineLocks> after = deadlock_of_two();
  after[1].locks[0].holders[0].token = Token(99);
  EXPECT_TRUE(confirmed(deadlock_of_two(), after).empty());
  after = deadlock_of_two();
  after[1].locks[0].holders[0].id = id_of(12345);
  EXPECT_TRUE(confirmed(deadlock_of_two(), after).empty());
}

TEST(TwoLooks, AnEngineOrALockThatWasSeenOnceCountsForNothing) {
  std::vector<EngineLocks> after = deadlock_of_two();
  after.pop_back();
  EXPECT_TRUE(confirmed(deadlock_of_two(), after).empty());
  EXPECT_TRUE(confirmed(after, deadlock_of_two()).empty());
  after = deadlock_of_two();
  after[0].locks[0].name = Name("other");
  EXPECT_TRUE(confirmed(deadlock_of_two(), after).empty());
}

TEST(TwoLooks, APermitThatChangedHandsIsNotTaken) {
  const auto look = [](const std::string& third) {
    LockBuilder s = lock("s");  // the engine does not tell how many permits there are
    s.permit().held_by("x").held_by(third).wanted_by("y");
    return one_engine({s, lock("b").held_by("y").wanted_by("x").wanted_by("p").wanted_by("q")});
  };
  EXPECT_EQ(confirmed(look("p"), look("p")).size(), 1U);
  EXPECT_TRUE(confirmed(look("p"), look("q")).empty());
}

// ---- Against a slow and simple definition -----------------------------------------------------

// Lets owners that can go on end, one after the other, by looking at everything again. All owners wait at most once per
// lock and never for what they hold, so that there is nothing only possible.
std::vector<std::string> slowly_stuck(std::vector<LockInfo> locks) {
  const auto granted = [](const LockInfo& lock, std::size_t index) {
    const Mode mode = lock.waiters[index].mode;
    std::uint32_t permits_taken = 0;
    const auto conflict = [&](const auto& other) {
      if (mode == Mode::permit && other.mode == Mode::permit)
        return ++permits_taken >= lock.permits;
      return mode == Mode::exclusive || other.mode != mode;
    };
    return std::ranges::none_of(lock.holders, conflict) &&
           std::none_of(lock.waiters.begin(),
                        lock.waiters.begin() + static_cast<std::ptrdiff_t>(index), conflict);
  };
  const auto can_go_on = [&](const std::string& owner) {
    return std::ranges::all_of(locks, [&](const LockInfo& lock) {
      for (std::size_t i = 0; i < lock.waiters.size(); ++i) {
        if (lock.waiters[i].owner == owner && !granted(lock, i)) return false;
      }
      return true;
    });
  };
  const auto end = [&](const std::string& owner) {
    const auto its = [&](const auto& claim) { return claim.owner == owner; };
    for (LockInfo& lock : locks) {
      std::erase_if(lock.holders, its);
      std::erase_if(lock.waiters, its);
    }
  };
  std::vector<std::string> left;
  for (const LockInfo& lock : locks) {
    for (const auto& waiter : lock.waiters) left.push_back(waiter.owner);
    for (const auto& holder : lock.holders) left.push_back(holder.owner);
  }
  std::ranges::sort(left);
  left.erase(std::unique(left.begin(), left.end()), left.end());
  for (bool changed = true; changed;) {
    changed = std::erase_if(left, [&](const std::string& owner) {
                return can_go_on(owner) ? (end(owner), true) : false;
              }) > 0;
  }
  return left;
}

std::vector<LockInfo> random_locks(std::mt19937& random) {
  const auto draw = [&](std::uint32_t below) {
    return static_cast<std::uint32_t>(random() % below);
  };
  std::vector<LockInfo> locks;
  const std::uint32_t owners = 3 + draw(6);
  for (std::uint32_t i = 0; i < 2 + draw(5); ++i) {
    std::vector<std::string> everybody;
    for (std::uint32_t o = 0; o < owners; ++o) everybody.push_back("o" + std::to_string(o));
    std::ranges::shuffle(everybody, random);
    const std::uint32_t permits = 1 + draw(3);
    LockBuilder made("l" + std::to_string(i), permits);
    const std::uint32_t kind = draw(3);
    if (kind == 0) made.exclusive();
    if (kind == 1) made.shared();
    const std::uint32_t holders = std::min(owners - 1, kind == 0   ? 1
                                                       : kind == 2 ? draw(permits + 1)
                                                                   : 1 + draw(3));
    for (std::uint32_t h = 0; h < holders; ++h) made.held_by(everybody[h]);
    for (std::uint32_t w = holders; w < owners && draw(3) > 0; ++w) {
      const std::uint32_t mode = draw(3);
      (mode == 0   ? made.exclusive()
       : mode == 1 ? made.shared()
                   : made.permit())
          .wanted_by(everybody[w]);
    }
    locks.push_back(made);
  }
  return locks;
}

TEST(Deadlocks, AgreeWithASimpleDefinition) {
  std::size_t deadlocks = 0;
  for (std::uint32_t seed = 1; seed <= 3000; ++seed) {
    std::mt19937 random(seed);
    const std::vector<LockInfo> locks = random_locks(random);
    const std::vector<std::string> stuck = slowly_stuck(locks);
    std::size_t told = 0;
    for (const Deadlock& deadlock : find_deadlocks(one_engine(locks))) {
      ++deadlocks;
      EXPECT_FALSE(deadlock.only_possible) << "seed " << seed;
      EXPECT_GE(deadlock.owners.size(), 2U) << "seed " << seed;
      told += deadlock.owners.size() + deadlock.behind;
      for (const Deadlock::Owner& owner : deadlock.owners) {
        EXPECT_TRUE(std::ranges::binary_search(stuck, owner.owner)) << "seed " << seed;
      }
      for (const Deadlock::Wait& wait : deadlock.waits) {
        EXPECT_FALSE(wait.waits_for.empty()) << "seed " << seed;
      }
    }
    EXPECT_EQ(told, stuck.size()) << "seed " << seed;
  }
  EXPECT_GT(deadlocks, 300U) << "the locks that are drawn must be able to deadlock";
}

TEST(Deadlocks, TenThousandLocksAreLookedThroughQuickly) {
  constexpr int kLocks = 10'000;
  std::vector<LockInfo> locks;
  // One circle through all of them, a queue of ten on each, and one long queue.
  for (int i = 0; i < kLocks; ++i) {
    LockBuilder made = lock("l" + std::to_string(i));
    made.held_by("o" + std::to_string(i)).wanted_by("o" + std::to_string((i + 1) % kLocks), i + 1);
    for (int w = 0; w < 10; ++w) made.wanted_by("w" + std::to_string(i) + "." + std::to_string(w));
    locks.push_back(made);
  }
  LockBuilder queue = lock("queue");
  queue.held_by("w0.0");
  for (int i = 0; i < kLocks; ++i) queue.wanted_by("q" + std::to_string(i));
  locks.push_back(queue);
  const auto began = std::chrono::steady_clock::now();
  const std::vector<Deadlock> found = find_deadlocks(one_engine(std::move(locks)));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].owners.size(), static_cast<std::size_t>(kLocks));
  EXPECT_EQ(found[0].behind, static_cast<std::size_t>(kLocks * 11));
  EXPECT_EQ(found[0].youngest, "o1");
  // A quadratic one takes minutes; the sanitizers' slowness is no reason to fail.
  EXPECT_LT(took.count(), 20.0);
  RecordProperty("milliseconds", static_cast<int>(took.count() * 1000));
}

}  // namespace
}  // namespace holdfast
