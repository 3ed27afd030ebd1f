// Data in a memcached that is lost or changed: restarts, flushes, evictions, foreign items.
#include "lossy_network.h"
#include "memcached_testing.h"

namespace holdfast::memcached_tests {
namespace {

// ---- Restarts: all is gone, and cas numbers begin at 1 again ------------------------------------

// The cas of the lost word and that of its successor are both 1: only the connection tells them
// apart.
TEST(MemcachedRestart, ReleaseByAHolderOfBeforeLeavesTheSuccessorAlone) {
  MemcachedServer server;
  Client before = open(server.url());
  Client after = open(server.url());
  Result<Lease> old = before.mutex("x", {.ttl = 30s, .auto_renew = false}).try_acquire();
  ASSERT_EQ(told(old), "granted");
  ASSERT_EQ(visible_token(before, "x"), old->token().value());  // It is recorded: a new cas.
  const std::string cas = server.ask("mg x c\r\n");
  server.restart();
  Result<Lease> next = after.mutex("x", {.ttl = 30s, .auto_renew = false}).try_acquire_for(5s);
  ASSERT_EQ(told(next), "granted");
  EXPECT_GT(next->token(), old->token());
  // Or this test would show nothing.
  ASSERT_TRUE(eventually([&] { return server.ask("mg x c\r\n") == cas; })) << cas;
  EXPECT_EQ(outcome_of(old->release()), "not_held");
  EXPECT_EQ(visible_token(after, "x"), next->token().value()) << "the successor's was released";
  EXPECT_EQ(told(next->renew()), "granted");
}

TEST(MemcachedRestart, RenewalByAHolderOfBeforeDoesNotOverwriteTheSuccessor) {
  MemcachedServer server;
  Client before = open(server.url());
  Client after = open(server.url());
  std::vector<Lease> old;  // several: they are renewed in one write
  for (const char* name : {"a", "b", "c"}) {
    old.push_back(before.mutex(name, {.ttl = 6s}).try_acquire().value());
  }
  server.restart();
  std::vector<Lease> next;
  for (const char* name : {"a", "b", "c"}) {
    next.push_back(after.mutex(name, {.ttl = 6s}).try_acquire_for(5s).value());
  }
  for (Lease& lease : old) {
    EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  }
  for (Lease& lease : next) {
    EXPECT_EQ(visible_token(after, lease.name()), lease.token().value());
    EXPECT_EQ(told(lease.renew()), "granted");
  }
}

TEST(MemcachedRestart, ALeaseIsLostWithTheDataAndSaysSo) {
  expect_a_lease_is_lost_with_the_data<MemcachedServer>(3s);
}

TEST(MemcachedRestart, WaitersOutliveItAndGetTheLock) {
  MemcachedServer server;
  Client holder = open(server.url());
  Client client = open(server.url());
  Result<Lease> lease = holder.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  Pending waiting = in_thread([&] { return client.mutex("x", kLong).try_acquire_for(30s); });
  pause_for(100ms);
  server.kill();
  pause_for(700ms);
  server.restart();
  ASSERT_TRUE(arrives(waiting));
  Result<Lease> got = waiting.get();
  ASSERT_EQ(told(got), "granted");
  EXPECT_GT(got->token(), lease->token());
}

TEST(MemcachedRestart, AServerThatIsGoneIsNamedAtOnceAndUsedWhenItIsBack) {
  expect_a_dead_server_is_named_and_used_again<MemcachedServer>();
}

// ---- A server that stands still -----------------------------------------------------------------

TEST(MemcachedPause, AStoppedServerIsWaitedForAndUsedAgain) {
  expect_a_stopped_server_is_waited_for<MemcachedServer>();
}

TEST(MemcachedPause, ALeaseOutlivesAStopThatIsShorterThanItsTtl) {
  expect_a_lease_outlives_a_short_stop<MemcachedServer>();
}

// ---- Tokens -------------------------------------------------------------------------------------

TEST(MemcachedTokens, GoOnGrowingAfterAFlush) {
  MemcachedServer server;
  Client client = open(server.url());
  Token last;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 20; ++i) {
      Result<Lease> lease = client.mutex("x", kLong).try_acquire();
      ASSERT_EQ(told(lease), "granted");
      ASSERT_GT(lease->token(), last);
      last = lease->token();
      ASSERT_EQ(told(lease->release()), "granted");
    }
    ASSERT_EQ(server.ask("flush_all\r\n"), "OK\r\n");
    ASSERT_FALSE(present(server, "x:hf:token"));
  }
}

// As after the clock of whoever drew it first was ahead: the counter stays ahead, and goes on.
TEST(MemcachedTokens, GoOnFromACounterThatIsAheadOfTheClock) {
  MemcachedServer server;
  const std::string ahead = "9000000000000000";  // in the year 2255
  ASSERT_EQ(server.ask("ms x:hf:token 16\r\n" + ahead + "\r\n"), "HD\r\n");
  Client client = open(server.url());
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  EXPECT_EQ(lease->token(), Token(9000000000000001));
  // Nor does this client go back, whoever lost the counter.
  ASSERT_EQ(server.ask("flush_all\r\n"), "OK\r\n");
  Result<Lease> next = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(next), "granted");
  EXPECT_GT(next->token(), lease->token());
}

TEST(MemcachedTokens, AForeignItemInTheirPlaceIsNamedAndNothingIsLeftBehind) {
  MemcachedServer server;
  ASSERT_EQ(server.ask("ms x:hf:token 5\r\nhello\r\n"), "HD\r\n");
  Client client = open(server.url());
  const std::string said = told(client.mutex("x", kLong).try_acquire());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("tokens"));
  EXPECT_FALSE(present(server, "x")) << "a lock that nobody was given";
}

// A look at once shows the token all the same.
TEST(MemcachedTokens, AreShownByWhoeverLooksRightAfterTheGrant) {
  MemcachedServer server;
  Client client = open(server.url());
  Client other = open(server.url());
  for (int i = 0; i < 50; ++i) {
    Result<Lease> lease = client.mutex("x", kLong).try_acquire();
    ASSERT_EQ(told(lease), "granted");
    ASSERT_EQ(visible_token(other, "x"), lease->token().value());
    ASSERT_EQ(told(lease->release()), "granted");
  }
}

// A hold for a script: the process that took it ends at once.
TEST(MemcachedTokens, AreRecordedBeforeADetachedHoldIsHandedOut) {
  MemcachedServer server;
  Client client = open(server.url());
  for (int i = 0; i < 20; ++i) {
    const Handle handle = client.mutex("x" + std::to_string(i), kLong).acquire_detached({}).value();
    EXPECT_THAT(server.ask("mg x" + std::to_string(i) + " v\r\n", "\r\n"),
                HasSubstr(" " + handle.hold().token.str() + " "));
  }
}

// ---- Items that are lost, or others' ------------------------------------------------------------

TEST(MemcachedItems, AnEvictedLockIsNoticedAtTheNextRenewal) {
  MemcachedServer server;
  Client client = open(server.url());
  Result<Lease> lease = client.mutex("x", {.ttl = 3s}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  ASSERT_EQ(server.ask("md x\r\n"), "HD\r\n");
  EXPECT_TRUE(eventually([&] { return lease->lost().stop_requested(); }));
  EXPECT_EQ(outcome_of(lease->release()), "not_held");
}

// With memory for hardly anything, others' items push out ours: then it is lost, and never two
// have it that are both told so.
TEST(MemcachedItems, UnderMemoryPressureALossIsNoticed) {
  MemcachedServer server({.arguments = {"-m", "2", "-o", "no_lru_maintainer"}});
  Client client = open(server.url());
  Result<Lease> lease = client.mutex("x", {.ttl = 30s, .auto_renew = false}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  ASSERT_EQ(visible_token(client, "x"), lease->token().value());
  const std::string value(100, 'v');
  std::string items;
  for (int i = 0; i < 40000; ++i) {
    items += "ms item" + std::to_string(i) + " 100 q\r\n" + value + "\r\n";
  }
  static_cast<void>(server.ask(items + "mn\r\n", "MN\r\n"));
  ASSERT_FALSE(present(server, "x")) << "there was memory enough";
  EXPECT_EQ(outcome_of(lease->renew()), "not_held");
  EXPECT_TRUE(eventually([&] { return lease->lost().stop_requested(); }));
}

// memcached -M: it refuses rather than forgets.
TEST(MemcachedItems, AServerThatIsOutOfMemorySaysSo) {
  MemcachedServer server({.arguments = {"-m", "2", "-M"}});
  Client client = open(server.url());
  const std::string value(100, 'v');
  std::string items;
  for (int i = 0; i < 60000; ++i) {
    items += "ms item" + std::to_string(i) + " 100 q\r\n" + value + "\r\n";
  }
  static_cast<void>(server.ask(items + "mn\r\n", "MN\r\n"));
  std::string said;
  for (int i = 0; i < 20000 && said.empty(); ++i) {
    const Wait at_once{.deadline = Deadline::at(BootClock::now() + 10s), .queue = false};
    Result<Handle> handle =
        client.mutex("name" + std::to_string(i), kLong).acquire_detached(at_once);
    if (!handle) said = told(handle);
  }
  EXPECT_THAT(said, StartsWith("unreachable"));
  EXPECT_THAT(said, HasSubstr("out of memory"));
}

// By `ms` a try that finds no memory would delete the holder's word, and so would the renewal of a
// holder that has lost it.
TEST(MemcachedItems, WhoFindsNoMemoryDoesNotEndTheHoldOfAnother) {
  MemcachedServer server({.arguments = {"-m", "2", "-M"}});
  Client holder = open(server.url());
  Client other = open(server.url());
  Result<Lease> lease = holder.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  ASSERT_EQ(visible_token(other, "x"), lease->token().value());
  const auto fill = [&](std::size_t size) {
    std::string items;
    for (int i = 0; i < 60000; ++i) {
      items += "ms item" + std::to_string(size) + "-" + std::to_string(i) + " " +
               std::to_string(size) + " q\r\n" + std::string(size, 'v') + "\r\n";
    }
    static_cast<void>(server.ask(items + "mn\r\n", "MN\r\n"));
  };
  for (const std::size_t size : {50, 90, 120, 160}) fill(size);
  EXPECT_THAT(told(other.mutex("x", kLong).try_acquire()), HasSubstr("out of memory"));
  EXPECT_EQ(visible_token(other, "x"), lease->token().value()) << "the try ended the hold";
  EXPECT_THAT(told(lease->renew()), HasSubstr("out of memory"));
  EXPECT_EQ(visible_token(other, "x"), lease->token().value()) << "the renewal ended the hold";
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(told(lease->release()), "granted");
}

TEST(MemcachedItems, AForeignItemUnderTheKeyIsAHolderThatWeNeitherReleaseNorList) {
  MemcachedServer server;
  Client client = open(server.url());
  for (const std::string& value : {std::string("1"), std::string(100'000, 'v')}) {
    const std::string size = std::to_string(value.size());
    ASSERT_EQ(server.ask("ms x " + size + " T20\r\n" + value + "\r\n"), "HD\r\n");
    const Result<Lease> refused = client.mutex("x", kLong).try_acquire();
    ASSERT_EQ(outcome_of(refused), "busy");
    EXPECT_THAT(refused.message(), HasSubstr("another program"));
    EXPECT_TRUE(client.list().value().empty());
    EXPECT_EQ(outcome_of(client.evict("x", Token())), "not_held");
    Pending waiting = in_thread([&] { return client.mutex("x", kLong).try_acquire_for(10s); });
    pause_for(100ms);
    EXPECT_TRUE(present(server, "x"));
    ASSERT_EQ(server.ask("md x\r\n"), "HD\r\n");
    EXPECT_EQ(told(waiting.get()), "granted");
  }
}

// ---- Ends ---------------------------------------------------------------------------------------

// The item must not end before the lease does, at whatever part of a second it began.
TEST(MemcachedTtl, TheItemOutlastsTheLeaseAtEveryPartOfASecond) {
  MemcachedServer server;
  Client client = open(server.url());
  Client other = open(server.url());
  std::vector<Lease> leases;
  for (int i = 0; i < 20; ++i) {
    leases.push_back(client.mutex("x" + std::to_string(i), {.ttl = 2s, .auto_renew = false})
                         .try_acquire()
                         .value());
    pause_for(50ms);
  }
  for (Lease& lease : leases) {
    while (BootClock::now() < lease.valid_until() - 2ms) {
      const bool there = present(server, lease.name().bytes());
      if (BootClock::now() >= lease.valid_until()) break;  // We were asleep.
      ASSERT_TRUE(there) << "it ended while its lease was valid";
      pause_for(5ms);
    }
  }
  expect_free_soon(other, "x19", 4s);
}

// memcached takes more than 30 days for a date.
TEST(MemcachedTtl, ThirtyDaysAreNotTakenForADate) {
  MemcachedServer server;
  Client client = open(server.url());
  for (const Duration ttl : {Duration(720h), Duration(720h - 1s), Duration(720h - 2s)}) {
    Result<Lease> lease = client.mutex("x", {.ttl = ttl}).try_acquire();
    ASSERT_EQ(told(lease), "granted");
    EXPECT_TRUE(present(server, "x"));
    EXPECT_EQ(told(lease->renew()), "granted");
    EXPECT_TRUE(present(server, "x"));
    EXPECT_GT(lease->valid_until() - BootClock::now(), 700h);
    EXPECT_LT(lease->valid_until() - BootClock::now(), ttl);
    ASSERT_EQ(told(lease->release()), "granted");
  }
}

}  // namespace
}  // namespace holdfast::memcached_tests
