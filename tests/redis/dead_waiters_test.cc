// Waiters that are dead, stopped, or not told: they cost the others little, and the server less.
#include "child.h"
#include "redis_testing.h"

namespace holdfast::redis_tests {
namespace {

using contract::Child;

constexpr LockOptions kBrief{.ttl = 3s};

class RedisDeadWaiters : public testing::Test {
 protected:
  Lease hold(const LockOptions& options = kLong) {
    return holder_.mutex("x", options).try_acquire().value();
  }
  // Returns when all of them stand in the queue.
  std::vector<std::unique_ptr<Child>> waiting_children(std::size_t count) {
    std::vector<std::unique_ptr<Child>> children;
    for (std::size_t i = 0; i < count; ++i) {
      children.push_back(std::make_unique<Child>(server_.url()));
      children.back()->send(Child::command("acquire", "x", kBrief.ttl));
      EXPECT_TRUE(eventually([&] { return waiters(watcher_, "x") == i + 1; }));
    }
    return children;
  }
  Pending wait_behind(std::size_t others) {
    Pending waiting = in_thread([this] { return living_.mutex("x", kBrief).try_acquire_for(60s); });
    EXPECT_TRUE(eventually([&] { return waiters(watcher_, "x") == others + 1; }));
    return waiting;
  }
  // Entries of clients that are gone, ahead of all others.
  void queue_the_dead(int count) {
    const std::string script =
        "for i = 1, ARGV[1] do redis.call('ZADD', KEYS[1], i, string.format("
        "'%032x x 1 30000 holdfast:%032x nobody', i, i)) end";
    server_.command({"EVAL", script, "1", "{x}:hf:q", std::to_string(count)});
  }

  RedisServer server_;
  Client holder_ = open(server_.url());
  Client watcher_ = open(server_.url());
  Client living_ = open(server_.url());
};

TEST_F(RedisDeadWaiters, StoppedOnesDelayALiveOneOnceNotEach) {
  Lease lease = hold();
  const auto children = waiting_children(4);
  Pending waiting = wait_behind(4);
  for (const auto& child : children) child->stop();
  const BootTime released = BootClock::now();
  ASSERT_EQ(told(lease.release()), "granted");
  EXPECT_EQ(told(waiting.get()), "granted");
  // 3 s for the first of them, 1.8 until the live one looks, 3 until the others count as asleep.
  EXPECT_LT(since(released), 10s);
}

TEST_F(RedisDeadWaiters, AStoppedOneComesBackToItsPlace) {
  Lease lease = hold();
  const auto children = waiting_children(2);
  Pending waiting = wait_behind(2);
  for (const auto& child : children) child->stop();
  ASSERT_EQ(told(lease.release()), "granted");
  Result<Lease> got = waiting.get();
  ASSERT_EQ(told(got), "granted");
  // Both were passed over; they come back, before one who came later.
  Client late = open(server_.url());
  Pending later = in_thread([&] { return late.mutex("x", kBrief).try_acquire_for(60s); });
  for (const auto& child : children) child->resume();
  ASSERT_TRUE(eventually([&] { return waiters(watcher_, "x") == 3; }));
  ASSERT_EQ(told(got->release()), "granted");
  for (const auto& child : children) {
    EXPECT_THAT(child->answer(), testing::StartsWith("granted"));
    EXPECT_FALSE(contract::is_ready(later));
    child->ask("release");
  }
  EXPECT_EQ(told(later.get()), "granted");
}

TEST_F(RedisDeadWaiters, KilledOnesLeaveTheQueueThoughNobodyReleases) {
  Lease lease = hold();
  const auto children = waiting_children(3);
  for (const auto& child : children) child->kill();
  queue_the_dead(1000);
  Pending waiting = in_thread([this] { return living_.mutex("x", kBrief).try_acquire_for(60s); });
  EXPECT_TRUE(eventually([&] { return waiters(watcher_, "x") == 1; })) << waiters(watcher_, "x");
  ASSERT_EQ(told(lease.release()), "granted");
  EXPECT_EQ(told(waiting.get()), "granted");
}

// The value of a field of INFO; of a command's statistics the calls.
double number_in(RedisServer& server, const std::string& section, const std::string& field) {
  const std::string info = server.command({"INFO", section});
  const std::size_t place = info.find(field);
  return place == std::string::npos ? 0 : std::stod(info.substr(place + field.size()));
}

// The processor's time, not the clock's: on a busy machine a script is interrupted.
struct Work {
  explicit Work(RedisServer& server)
      : scripts(number_in(server, "commandstats", "cmdstat_eval:calls=") +
                number_in(server, "commandstats", "cmdstat_evalsha:calls=")),
        seconds(number_in(server, "cpu", "used_cpu_user:") +
                number_in(server, "cpu", "used_cpu_sys:")) {}
  double scripts;
  double seconds;
};

TEST_F(RedisDeadWaiters, AHundredThousandBlockTheServerForAMomentOnly) {
  constexpr int kDead = 100'000;
  Lease lease = hold();
  queue_the_dead(kDead);
  Client patient = open(server_.url());
  Pending waiting = in_thread([&] { return patient.mutex("x", kLong).try_acquire_for(60s); });
  ASSERT_TRUE(eventually(
      [&] { return server_.command({"ZCARD", "{x}:hf:q"}) == std::to_string(kDead + 1); }));
  const Work before(server_);
  ASSERT_EQ(told(lease.release()), "granted");
  EXPECT_EQ(told(waiting.get()), "granted");
  const Work after(server_);
  const double scripts = after.scripts - before.scripts;
  EXPECT_LT((after.seconds - before.seconds) / scripts, 0.005) << scripts << " scripts";
}

// ---- Nobody tells ------------------------------------------------------------------------------

TEST_F(RedisDeadWaiters, AWaiterThatIsNotToldLooksItself) {
  // A user whose messages nobody hears.
  ASSERT_EQ(
      server_.command({"ACL", "SETUSER", "mute", "on", ">pw", "~*", "&*", "+@all", "-publish"}),
      "OK");
  Client mute = open("redis://mute:pw@127.0.0.1:" + std::to_string(server_.port()));
  for (const Duration ttl : {Duration(1s), Duration(3s)}) {
    Lease lease = mute.mutex("x", kLong).try_acquire().value();
    Pending waiting =
        in_thread([&] { return living_.mutex("x", {.ttl = ttl}).try_acquire_for(60s); });
    ASSERT_TRUE(eventually([&] { return waiters(watcher_, "x") == 1; }));
    const BootTime released = BootClock::now();
    ASSERT_EQ(told(lease.release()), "granted");
    EXPECT_EQ(told(waiting.get()), "granted");  // and given back
    EXPECT_LT(since(released), 3500ms) << "half a ttl is the bound";
  }
}

}  // namespace
}  // namespace holdfast::redis_tests
