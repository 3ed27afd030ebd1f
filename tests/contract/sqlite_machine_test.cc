// The SQLite engine under reboots, deleted side files, lost messages, and processes that
// stand still.
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "child.h"
#include "sqlite_testing.h"

namespace holdfast::contract {

class SqliteBootTest : public SqliteTest {
 protected:
  // As if the machine had been booted since; its clocks go on.
  void reboot() const {
    Backdoor(file()).execute("UPDATE meta SET boot = 'the boot before this one'");
  }
  Handle detached(const std::string& name, Duration ttl) const {
    return open().mutex(name, {.ttl = ttl}).acquire().value().detach().value();
  }
  // The result of try_acquire() in a process that sees another boot id; "cannot" if there can be
  // none here. REQUIRES: this process has no client, which the forked one would inherit.
  std::string outcome_under_another_boot_id(const std::string& name) const {
    const std::string boot_id = folder() / "boot_id";
    std::ofstream(boot_id) << "11111111-2222-3333-4444-555555555555\n";
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return "cannot";
    const pid_t pid = fork();
    if (pid == 0) {
      std::string said = "cannot";
      const char* real = "/proc/sys/kernel/random/boot_id";
      if (unshare(CLONE_NEWNS) == 0 && mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
          mount(boot_id.c_str(), real, nullptr, MS_BIND, nullptr) == 0) {
        Result<Client> client = Client::open(url());
        said = client ? outcome_of(client->mutex(name).try_acquire()) : outcome_of(client);
      }
      static_cast<void>(!write(ends[1], said.data(), said.size()));
      _exit(0);
    }
    close(ends[1]);
    std::array<char, 64> bytes{};
    const ssize_t size = read(ends[0], bytes.data(), bytes.size());
    close(ends[0]);
    waitpid(pid, nullptr, 0);
    return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }
};
class SqliteSideFilesTest : public SqliteTest {};
class SqliteQueueTest : public SqliteTest {};

TEST_F(SqliteBootTest, AfterARebootTheHoldsOfDeadProcessesAreGoneAndTokensAreAhead) {
  std::uint64_t last = 0;
  {
    Child child(url());
    const std::string granted = child.ask("acquire x 3600000");
    ASSERT_THAT(granted, testing::StartsWith("granted "));
    last = std::stoull(granted.substr(8));
    ASSERT_THAT(Child(url()).ask("shared y 3600000"), testing::StartsWith("granted "));
  }
  reboot();
  Client client = open();
  const Result<Lease> lease = client.mutex("x").try_acquire();
  ASSERT_EQ(outcome_of(lease), "granted") << "a holder from before the reboot is still there";
  EXPECT_EQ(outcome_of(client.mutex("y").try_acquire()), "granted");
  // More than all grants that a power cut can have undone, if the clock was set back besides.
  EXPECT_GE(lease->token().value(), last + 1'000'000);
}

// A handle is held by nobody's process: only its ttl ends it, whoever asks.
TEST_F(SqliteBootTest, ADetachedHoldOutlivesARebootUntilItsTtl) {
  const Handle longer = detached("x", 1h);
  const Handle reader =
      open().shared_mutex("y", {.ttl = 1h}).shared().acquire().value().detach().value();
  const BootTime end = BootClock::now() + 1500ms;
  const Handle shorter = detached("z", 1500ms);
  reboot();
  Client client = open();
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy") << "a reboot took a detached hold";
  EXPECT_EQ(outcome_of(client.mutex("y").try_acquire()), "busy");
  const Result<Lease> z = client.mutex("z").try_acquire_for(kPatience);
  ASSERT_EQ(outcome_of(z), "granted");
  EXPECT_GE(BootClock::now() + 20ms, end);  // The two clocks are not read at the very same moment.
  EXPECT_GT(z->token(), shorter.hold().token);

  EXPECT_EQ(outcome_of(client.renew(longer)), "granted");
  EXPECT_EQ(outcome_of(client.release(longer)), "granted");
  EXPECT_EQ(outcome_of(client.release(reader)), "granted");
  const Result<Lease> x = client.mutex("x").try_acquire();
  ASSERT_EQ(outcome_of(x), "granted");
  EXPECT_GT(x->token(), longer.hold().token);
}

TEST_F(SqliteBootTest, TheTtlOfADetachedHoldIsTranslatedIntoTheClockOfTheNewBoot) {
  static_cast<void>(detached("x", 1h));
  static_cast<void>(detached("over", 1h));
  // The machine had been up for ten days longer, and was off for half an hour.
  Backdoor(file()).execute(
      "UPDATE meta SET wall_offset = wall_offset - 864000000000000 - 1800000000000;"
      "UPDATE lock SET since = since + 864000000000000, expires = expires + 864000000000000;"
      "UPDATE lock SET expires = expires - 2000000000000 WHERE name = CAST('over' AS BLOB)");
  reboot();
  Client client = open();
  const LockInfo info = client.inspect("x").value();
  ASSERT_EQ(info.holders.size(), 1U);
  EXPECT_LE(*info.holders[0].expires_in, 30min + 1s);
  EXPECT_GE(*info.holders[0].expires_in, 25min);
  EXPECT_GE(*info.holders[0].held_for, 30min);
  EXPECT_EQ(outcome_of(client.mutex("over").try_acquire()), "granted") << "its ttl had passed";
}

TEST_F(SqliteBootTest, AClockThatWasSetBackDoesNotMakeADetachedHoldLastLongerThanItsTtl) {
  static_cast<void>(detached("x", 1h));
  Backdoor(file()).execute("UPDATE meta SET wall_offset = wall_offset + 864000000000000");
  reboot();
  const LockInfo info = open().inspect("x").value();
  ASSERT_EQ(info.holders.size(), 1U);
  EXPECT_LE(*info.holders[0].expires_in, 1h);
}

// For real: a process with another boot id, as in a container, on the same machine.
TEST_F(SqliteBootTest, AProcessWithABootIdOfItsOwnDoesNotTakeADetachedHold) {
  const auto foreign = [&](const std::string& name) { return outcome_under_another_boot_id(name); };
  ASSERT_EQ(outcome_of(Client::open(url())), "granted");
  if (foreign("free") == "cannot") GTEST_SKIP() << "cannot mount another boot id here";
  static_cast<void>(detached("x", 1h));
  EXPECT_EQ(foreign("x"), "busy");
  EXPECT_EQ(foreign("free"), "granted");
  // And back again.
  Client client = open();
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
}

TEST_F(SqliteBootTest, AProcessWithABootIdOfItsOwnIsRefusedWhileAnotherUsesTheDatabase) {
  ASSERT_EQ(outcome_of(Client::open(url())), "granted");
  if (outcome_under_another_boot_id("free") == "cannot") {
    GTEST_SKIP() << "cannot mount another boot id here";
  }
  Child child(url());
  ASSERT_THAT(child.ask("acquire x 30000"), testing::StartsWith("granted "));
  EXPECT_EQ(outcome_under_another_boot_id("y"), "misconfigured");
  EXPECT_EQ(child.ask("renew"), "ok");
}

TEST_F(SqliteBootTest, AClientThatHasNotLockedYetSeesThatAnotherBootIdCameIn) {
  Client client = open();
  reboot();
  const Result<Lease> lease = client.mutex("x").try_acquire();
  ASSERT_EQ(outcome_of(lease), "misconfigured");
  EXPECT_THAT(lease.message(), testing::HasSubstr("boot id"));
}

TEST_F(SqliteBootTest, ADatabaseOfTheFirstVersionIsTakenOver) {
  const Handle handle = detached("x", 1h);
  Backdoor(file()).execute("ALTER TABLE meta DROP COLUMN wall_offset; PRAGMA user_version = 1");
  Client client = open();
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
  EXPECT_EQ(outcome_of(client.release(handle)), "granted");
  EXPECT_EQ(Backdoor(file()).number("SELECT wall_offset > 0 FROM meta"), 1);
}

TEST_F(SqliteBootTest, ADetachedHoldIsShownWithWhoTookIt) {
  Client client = Client::open(url(), {.label = "the nightly job"}).value();
  static_cast<void>(client.mutex("x", {.ttl = 1h}).acquire().value().detach().value());
  static_cast<void>(client.shared_mutex("y", {.ttl = 1h}).shared().acquire().value().detach());
  for (const char* name : {"x", "y"}) {
    const LockInfo info = client.inspect(name).value();
    ASSERT_EQ(info.holders.size(), 1U);
    EXPECT_EQ(info.holders[0].label, "the nightly job");
  }
}

TEST_F(SqliteBootTest, TokensNeverRepeatOverManyReboots) {
  std::map<std::string, Token> last;
  for (int boot = 0; boot < 5; ++boot) {
    Client client = open();
    for (const std::string& name : {std::string("old"), "boot " + std::to_string(boot)}) {
      for (int i = 0; i < 3; ++i) {
        const Token token = client.mutex(name).acquire().value().token();
        EXPECT_GT(token, last[name]) << name;
        last[name] = token;
      }
    }
    Backdoor(file()).execute("UPDATE meta SET boot = 'boot " + std::to_string(boot) + "'");
  }
  // A name that an earlier boot has seen, and this one not yet, has a past too.
  Client client = open();
  for (const auto& [name, token] : last) {
    EXPECT_GT(client.mutex(name).acquire().value().token(), token) << name;
  }
}

TEST_F(SqliteBootTest, ForgettingIdleNamesForgetsNoTokenAndNoHolder) {
  Client client = open();
  Token idle;
  for (int i = 0; i < 20; ++i) idle = client.mutex("idle").acquire().value().token();
  Lease held = client.mutex("held").acquire().value();
  // The engine sweeps the oldest names when it has seen more than 50,000, each time that a new
  // row's number is a multiple of 1,000.
  {
    Backdoor(file()).execute("INSERT INTO lock(id, name, token) VALUES(50999, x'00ff', 0)");
  }
  const Token fresh = client.mutex("fresh").acquire().value().token();
  EXPECT_GT(fresh, Token());
  EXPECT_EQ(Backdoor(file()).number("SELECT count(*) FROM lock WHERE name = CAST('idle' AS BLOB)"),
            0)
      << "nothing was forgotten: this test shows nothing";
  EXPECT_GT(client.mutex("idle").acquire().value().token(), idle);
  EXPECT_GT(client.mutex("fresh").acquire().value().token(), fresh);
  EXPECT_EQ(outcome_of(client.mutex("held").try_acquire()), "busy");
  EXPECT_EQ(outcome_of(held.renew()), "granted");
}

// Deleting DB-live must not make living holders look dead. Nobody gets in before the ttl.
TEST_F(SqliteSideFilesTest, ADeletedLivenessFileDoesNotLetAnybodyInEarly) {
  Client before = open();
  Lease lease = before.mutex("x", {.ttl = 2s, .auto_renew = false}).acquire().value();
  std::filesystem::remove(file().string() + "-live");
  Client after = open();
  ASSERT_TRUE(std::filesystem::exists(file().string() + "-live"));
  EXPECT_EQ(outcome_of(after.mutex("x").try_acquire()), "busy");
  EXPECT_EQ(outcome_of(after.mutex("x").try_acquire_for(200ms)), "busy");
  EXPECT_TRUE(lease.held());
  const Result<Lease> next = after.mutex("x").try_acquire_for(kPatience);
  ASSERT_EQ(outcome_of(next), "granted");
  EXPECT_GE(BootClock::now(), lease.valid_until());
}

TEST_F(SqliteSideFilesTest, AfterTheLivenessFileIsGoneADeadHolderEndsWithItsTtl) {
  Child child(url());
  ASSERT_THAT(child.ask("acquire x 1500"), testing::StartsWith("granted"));
  std::filesystem::remove(file().string() + "-live");
  Client client = open();
  child.kill();
  const Result<Lease> next = client.mutex("x").try_acquire_for(kPatience);
  EXPECT_EQ(outcome_of(next), "granted");
}

// Without its message a waiter looks for itself, about once a second.
TEST_F(SqliteSideFilesTest, AWaiterWhoseMessageIsLostGetsInSoonAllTheSame) {
  Client one = open();
  Client two = open();
  Lease lease = one.mutex("x", {.ttl = 1h}).acquire().value();
  Mutex mutex = two.mutex("x");
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(one, 1));
  std::filesystem::remove_all(file().string() + "-wake");
  ASSERT_TRUE(lease.release());
  EXPECT_EQ(waiting.wait_for(8s), std::future_status::ready) << "it waits for a lost message";
  EXPECT_EQ(outcome_of(waiting.get()), "granted");
}

TEST_F(SqliteSideFilesTest, AClientWhoseWakeDirectoryWasRemovedCanStillWait) {
  Client one = open();
  Client two = open();
  const auto hand_over = [&](Client& from, Client& to) {
    Lease lease = from.mutex("x").acquire().value();
    Mutex mutex = to.mutex("x");
    Pending waiting = in_thread([&] { return mutex.acquire(); });
    const bool queued = eventually([&] { return waiters(from) == 1 || is_ready(waiting); });
    EXPECT_TRUE(queued);
    EXPECT_TRUE(lease.release());
    return outcome_of(waiting.get());
  };
  ASSERT_EQ(hand_over(one, two), "granted");  // `one` has sent, `two` has listened.
  std::filesystem::remove_all(file().string() + "-wake");
  EXPECT_EQ(hand_over(one, two), "granted");
  EXPECT_EQ(hand_over(two, one), "granted");
}

TEST_F(SqliteQueueTest, TwoClientsOfOneProcessExcludeEachOtherAndSurviveEachOther) {
  Client one = open();
  auto two = std::make_unique<Client>(open());
  Lease lease = one.mutex("x").acquire().value();
  EXPECT_EQ(outcome_of(two->mutex("x").try_acquire()), "busy");
  two.reset();  // POSIX locks of the file go with the first descriptor that a process closes.
  Child child(url());
  EXPECT_EQ(child.ask("try x 30000"), "busy");
  EXPECT_EQ(outcome_of(lease.renew()), "granted");
  Client three = open();
  EXPECT_EQ(outcome_of(three.mutex("x").try_acquire()), "busy");
}

// A waiter that stands still is given the lock, does not take it, and is passed over when its
// provisional grant of about a second ends; its long ttl keeps nobody waiting.
TEST_F(SqliteQueueTest, AStoppedWaiterAtTheHeadDoesNotBlockTheQueueForItsTtl) {
  Client client = open();
  Lease lease = client.mutex("x").acquire().value();
  Child stopped(url());
  stopped.send("acquire x 3600000");
  ASSERT_TRUE(queue_reaches(client, 1));
  Mutex mutex = client.mutex("x");
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, 2));
  stopped.stop();
  const BootTime begin = BootClock::now();
  ASSERT_TRUE(lease.release());
  EXPECT_EQ(waiting.wait_for(10s), std::future_status::ready);
  EXPECT_GE(BootClock::now() - begin, 900ms) << "the head was not even asked";
  {
    const Result<Lease> got = waiting.get();
    ASSERT_EQ(outcome_of(got), "granted");
    // It wakes up, sees that its grant is over, and waits again: it does not believe the message.
    stopped.resume();
    EXPECT_TRUE(queue_reaches(client, 1)) << "it took a grant that had ended";
    EXPECT_TRUE(got->held());
  }
  EXPECT_THAT(stopped.answer(), testing::StartsWith("granted"));
}

TEST_F(SqliteQueueTest, AHolderThatWaitedKeepsTheLockBeyondTheProvisionalGrant) {
  Client one = open();
  Client two = open();
  Lease lease = one.mutex("x").acquire().value();
  Mutex mutex = two.mutex("x");
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(one, 1));
  ASSERT_TRUE(lease.release());
  const Result<Lease> got = waiting.get();
  ASSERT_EQ(outcome_of(got), "granted");
  const BootTime end = BootClock::now() + 2500ms;
  while (BootClock::now() < end) {
    ASSERT_TRUE(got->held());
    ASSERT_EQ(outcome_of(one.mutex("x").try_acquire()), "busy");
    pause_for(20ms);
  }
}

}  // namespace holdfast::contract
