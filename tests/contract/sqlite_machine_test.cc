// What the SQLite engine does about reboots, deleted side files, lost messages, and processes that
// stand still.
#include "child.h"
#include "sqlite_testing.h"

namespace holdfast::contract {

class SqliteBootTest : public SqliteTest {};
class SqliteSideFilesTest : public SqliteTest {};
class SqliteQueueTest : public SqliteTest {};

TEST_F(SqliteBootTest, AfterARebootHoldersAreGoneAndTokensJumpAhead) {
  Token last;
  {
    Client client = open();
    last = client.mutex("x").acquire().value().token();
  }
  std::optional<Handle> handle;
  {
    Client client = open();
    handle = client.mutex("x", {.ttl = 1h}).acquire().value().detach().value();
    ASSERT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
  }
  {
    Backdoor(file()).execute("UPDATE meta SET boot = 'the boot before this one'");
  }
  Client client = open();
  const Result<Lease> lease = client.mutex("x").try_acquire();
  ASSERT_EQ(outcome_of(lease), "granted") << "a holder from before the reboot is still there";
  EXPECT_GT(lease->token(), handle->hold().token);
  // More than all grants that a power cut can have undone.
  EXPECT_GE(lease->token().value(), last.value() + 1'000'000);
  EXPECT_EQ(outcome_of(client.adopt(*handle)), "not_held");
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
