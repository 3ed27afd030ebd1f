// The recipe `table` under attack: queues of the dead, names that are lost, wake-ups that go astray.
#include "mysql_testing.h"

namespace holdfast::mysql_tests {
namespace {

// A waiter looks by itself after a quarter of this: whoever gets the lock sooner was woken.
constexpr LockOptions kSilent{.ttl = 600s};
// Nobody sleeps for longer than 2 s without a look at the row.
constexpr Duration kWoken = 5s;

class MysqlTableAttack : public MysqlTest {
 protected:
  static std::string url(const std::string& prefix) { return server().url("prefix=" + prefix); }
  // The session that has the name of the first waiter; "0" if there is none.
  static std::string session_of_first(const std::string& key) {
    return server().value(
        "SELECT COALESCE(IS_USED_LOCK(CONCAT('holdfast:', LOWER(HEX(SUBSTR(waiters, 1, 16))))), 0)"
        " FROM holdfast.holdfast_lock WHERE name = '" +
        key + "'");
  }
};

// The grant to a waiter that does not hear of it is over after a second, and its place is lost.
TEST_F(MysqlTableAttack, WaitersAreWokenAfterTheirNamesWereLost) {
  Client holder = open(url("renamed:"));
  Client crowd = open(url("renamed:"));
  Result<Lease> lease = holder.mutex("x", kSilent).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  std::vector<Pending> pending;
  for (std::size_t i = 0; i < 4; ++i) {
    pending.push_back(in_thread([&] { return crowd.mutex("x", kSilent).try_acquire_for(60s); }));
    ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == i + 1; }));
  }
  const std::string before = session_of_first("renamed:x");
  ASSERT_NE(before, "0");
  server().query("KILL " + before);
  const auto named_anew = [&] {
    const std::string now = session_of_first("renamed:x");
    return now != "0" && now != before;
  };
  ASSERT_TRUE(eventually(named_anew));
  pause_for(7s);  // Longer than a session without waiters is kept.
  const BootTime released = BootClock::now();
  ASSERT_EQ(told(lease->release()), "granted");
  for (Pending& each : pending) {
    ASSERT_TRUE(arrives(each));
    EXPECT_EQ(told(each.get()), "granted");
  }
  EXPECT_LT(BootClock::now() - released, kWoken);
}

// One of them takes the turn of all when the holder's time is over; their order stays the same.
TEST_F(MysqlTableAttack, WaitersAreWokenInTheirOrderAfterAHolderExpired) {
  Client holder = open(url("order:"));
  Client crowd = open(url("order:"));
  for (int round = 0; round < 3; ++round) {
    Result<Lease> lease = holder.mutex("x", kSilent).try_acquire();
    ASSERT_EQ(told(lease), "granted");
    std::atomic<int> order = 0;
    std::vector<std::future<int>> places;
    for (std::size_t i = 0; i < 6; ++i) {
      places.push_back(std::async(std::launch::async, [&] {
        const Result<Lease> mine = crowd.mutex("x", kSilent).try_acquire_for(60s);
        EXPECT_EQ(told(mine), "granted");
        const int place = order++;
        pause_for(20ms);
        return place;
      }));
      ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == i + 1; }));
    }
    const BootTime expired = BootClock::now();
    server().query(
        "UPDATE holdfast.holdfast_lock SET expires = 1, version = version + 1"
        " WHERE name = 'order:x'");
    for (int i = 0; i < 6; ++i) EXPECT_EQ(places[static_cast<std::size_t>(i)].get(), i);
    EXPECT_LT(BootClock::now() - expired, kWoken);
    static_cast<void>(lease->release());
  }
}

TEST_F(MysqlTableAttack, ALongQueueOfTheDeadIsSkipped) {
  Client holder = open(url("dead:"));
  Client living = open(url("dead:"));
  Result<Lease> lease = holder.mutex("x", kSilent).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  // As a client with 300 waiters leaves them that was killed.
  std::string entries;
  for (int i = 0; i < 300; ++i) {
    entries += (i == 0 ? "" : ", ") + ("UNHEX(RPAD(HEX(" + std::to_string(1000 + i)) +
               "), 32, '7')), X'00000006FC23AC00', REPEAT(X'00', 8), X'0000000100'";
  }
  server().query(
      "UPDATE holdfast.holdfast_lock SET version = version + 1, labels = REPEAT(X'0000', 300),"
      " waiters = CONCAT(" +
      entries + ") WHERE name = 'dead:x'");
  Pending pending = in_thread([&] { return living.mutex("x", kSilent).try_acquire_for(60s); });
  ASSERT_TRUE(eventually([&] {
    return server().value(
               "SELECT LENGTH(waiters) DIV 37 FROM holdfast.holdfast_lock WHERE name = 'dead:x'") ==
           "301";
  }));
  const BootTime released = BootClock::now();
  ASSERT_EQ(told(lease->release()), "granted");
  ASSERT_TRUE(arrives(pending));
  EXPECT_EQ(told(pending.get()), "granted");
  EXPECT_LT(BootClock::now() - released, kWoken);
}

// The session of a connection that died without a word has the names for a while, and loses them then.
TEST_F(MysqlTableAttack, NamesThatAnOldSessionHadAreTakenWhenItEnds) {
  Client holder = open(url("old:"));
  Client waiter = open(url("old:"));
  Result<Lease> lease = holder.mutex("x", kSilent).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  Pending pending = in_thread([&] { return waiter.mutex("x", kSilent).try_acquire_for(60s); });
  ASSERT_TRUE(eventually([&] { return waiters(holder, "x") == 1; }));
  const std::string name = server().value(
      "SELECT CONCAT('holdfast:', LOWER(HEX(SUBSTR(waiters, 1, 16))))"
      " FROM holdfast.holdfast_lock WHERE name = 'old:x'");
  // The part of the old session is played by another one, which waits for the name.
  const std::string first = session_of_first("old:x");
  std::atomic<bool> have = false;
  std::atomic<bool> end = false;
  std::thread old([&] {
    MariadbClient session(server().port(), "holdfast");
    session.query("SELECT GET_LOCK('" + name + "', 30)");
    have = true;
    while (!end) pause_for(10ms);
  });
  pause_for(300ms);
  server().query("KILL " + first);
  ASSERT_TRUE(eventually([&] { return have.load(); }));
  pause_for(1s);
  end = true;
  old.join();
  EXPECT_TRUE(eventually([&] { return session_of_first("old:x") != "0"; }));
  ASSERT_EQ(told(lease->release()), "granted");
  ASSERT_TRUE(arrives(pending));
  EXPECT_EQ(told(pending.get()), "granted");
}

TEST_F(MysqlTableAttack, LabelsOfAnySizeAndKindAreTaken) {
  int number = 0;
  for (const std::string& label :
       {std::string(), std::string(70'000, 'x'), std::string("a\0b'\\\xff", 6)}) {
    const std::string name = "x" + std::to_string(number++);
    ClientOptions options;
    options.label = label;
    Client one = open(url("label:"), options);
    Client two = open(url("label:"), options);
    Result<Lease> lease = one.mutex(name, kSilent).try_acquire();
    ASSERT_EQ(told(lease), "granted");
    Pending pending = in_thread([&] { return two.mutex(name, kSilent).try_acquire_for(20s); });
    ASSERT_TRUE(eventually([&] { return waiters(one, name) == 1; }));
    ASSERT_EQ(told(lease->release()), "granted");
    ASSERT_TRUE(arrives(pending));
    EXPECT_EQ(told(pending.get()), "granted");
    EXPECT_EQ(told(one.shared_mutex(name + "s", kSilent).try_acquire_shared()), "granted");
  }
}

}  // namespace
}  // namespace holdfast::mysql_tests
