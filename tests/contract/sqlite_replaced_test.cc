// A database whose files are removed, replaced or restored, in use and not: no token is given out
// twice, and no client goes on believing in a lock that others cannot see.
#include "child.h"
#include "sqlite_testing.h"

namespace holdfast::contract {

class SqliteReplacedTest : public SqliteTest {
 protected:
  std::string beside(const std::string& suffix) const { return file().string() + suffix; }
  void remove(std::initializer_list<const char*> suffixes) const {
    for (const char* suffix : suffixes) std::filesystem::remove_all(beside(suffix));
  }
  // A copy of the database as it is now, all of it in one file.
  std::filesystem::path back_up() const {
    const std::filesystem::path copy = folder() / "backup.db";
    Backdoor(file()).execute("VACUUM INTO '" + copy.string() + "'");
    std::filesystem::permissions(copy, std::filesystem::perms(0600));
    return copy;
  }
  Token take_and_release() const { return open().mutex("x").acquire().value().token(); }
};

namespace {

std::uint64_t token_in(const std::string& granted) {
  EXPECT_THAT(granted, testing::StartsWith("granted "));
  return std::stoull(granted.substr(granted.find(' ') + 1));
}

std::uint64_t wall_us() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace

// ---- Tokens ------------------------------------------------------------------------------------

TEST_F(SqliteReplacedTest, TokensFollowTheClockAndNeverFallBehindThemselves) {
  Client client = open();
  Token last;
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t before = wall_us();
    const Token token = client.mutex("x").acquire().value().token();
    EXPECT_GE(token.value(), before);
    EXPECT_GT(token, last);
    last = token;
    const Token shared = client.shared_mutex("y").shared().acquire().value().token();
    EXPECT_GE(shared.value(), before);
  }
  // A clock that was set back does not matter: the last token is ahead of it.
  const std::int64_t ahead = 9'000'000'000'000'000;
  Backdoor(file()).execute("UPDATE lock SET token = " + std::to_string(ahead));
  EXPECT_EQ(client.mutex("x").acquire().value().token().value(), ahead + 1);
  EXPECT_EQ(client.shared_mutex("x").shared().acquire().value().token().value(), ahead + 2);
}

TEST_F(SqliteReplacedTest, AfterAnOlderCopyIsRestoredTokensGoOnAboveWhatWasForgotten) {
  const Token old = take_and_release();
  const std::filesystem::path backup = back_up();
  Token last;
  for (int i = 0; i < 5; ++i) last = take_and_release();
  ASSERT_GT(last, old);
  remove({"-wal", "-shm"});
  std::filesystem::copy_file(backup, file(), std::filesystem::copy_options::overwrite_existing);
  EXPECT_GT(take_and_release(), last);
}

TEST_F(SqliteReplacedTest, AfterTheDatabaseIsDeletedTokensGoOnAboveWhatWasForgotten) {
  const Token last = take_and_release();
  remove({"", "-wal", "-shm", "-live", "-wake"});
  EXPECT_GT(take_and_release(), last);
}

// ---- Under a client that uses it ---------------------------------------------------------------

// Things that can be done to the files, and whether newcomers can see that somebody uses what is gone.
struct Harm {
  std::string name;
  std::vector<const char*> removed;
  bool restored = false;  // an older copy is moved into the place of the database
  bool seen = false;
};

void PrintTo(const Harm& harm, std::ostream* out) { *out << harm.name; }

class SqliteHarmTest : public SqliteReplacedTest, public testing::WithParamInterface<Harm> {};

INSTANTIATE_TEST_SUITE_P(
    All, SqliteHarmTest,
    testing::Values(
        Harm{.name = "log", .removed = {"-wal"}, .seen = true},
        Harm{.name = "index", .removed = {"-shm"}, .seen = true},
        Harm{.name = "log_and_index", .removed = {"-wal", "-shm"}, .seen = true},
        Harm{.name = "all_but_live", .removed = {"", "-wal", "-shm"}, .seen = true},
        Harm{.name = "all", .removed = {"", "-wal", "-shm", "-live", "-wake"}},
        Harm{.name = "restored", .removed = {"-wal", "-shm"}, .restored = true, .seen = true},
        Harm{.name = "restored_beside_the_log", .removed = {}, .restored = true, .seen = true},
        Harm{.name = "restored_with_live", .removed = {"-wal", "-shm", "-live"}, .restored = true}),
    [](const auto& harm) { return harm.param.name; });

TEST_P(SqliteHarmTest, AHolderIsToldAndNobodyGetsItsTokenAgain) {
  static_cast<void>(take_and_release());
  const std::filesystem::path backup = back_up();
  Child holder(url());
  const std::uint64_t held = token_in(holder.ask("acquire x 3000"));
  for (const char* suffix : GetParam().removed) std::filesystem::remove_all(beside(suffix));
  if (GetParam().restored) std::filesystem::rename(backup, file());

  const auto newcomer = [&]() -> Result<Lease> {
    Result<Client> client = Client::open(url(), {.request_timeout = 50ms});
    if (!client) return client.failure();
    Result<Lease> lease = client->mutex("x").try_acquire();
    return lease;
  };
  {
    const Result<Lease> second = newcomer();
    if (GetParam().seen) {
      EXPECT_EQ(outcome_of(second), "unreachable") << "it came in while the lock was held";
      EXPECT_THAT(why(second), testing::HasSubstr("fuser")) << why(second);
    } else {
      ASSERT_EQ(outcome_of(second), "granted") << why(second);
      EXPECT_GT(second->token().value(), held);
    }
  }
  EXPECT_EQ(holder.ask("await-lost 30000"), "lost") << "it believes in a lock that nobody sees";
  EXPECT_EQ(holder.ask("held"), "no");
  EXPECT_EQ(holder.ask("try y 3000"), "misconfigured");
  holder.kill();
  const Result<Lease> next = newcomer();
  ASSERT_EQ(outcome_of(next), "granted") << why(next);
  EXPECT_GT(next->token().value(), held);
}

TEST_P(SqliteHarmTest, AWaiterAndItsClientAreTold) {
  Child holder(url());
  static_cast<void>(token_in(holder.ask("acquire x 3600000")));
  const std::filesystem::path backup = back_up();
  Client client = open();
  Mutex mutex = client.mutex("x");
  std::stop_source stop;
  Pending waiting = in_thread([&] { return mutex.acquire(stop.get_token()); });
  ASSERT_TRUE(queue_reaches(client, 1));
  Lease other = client.mutex("other", {.ttl = 1h}).acquire().value();
  for (const char* suffix : GetParam().removed) std::filesystem::remove_all(beside(suffix));
  if (GetParam().restored) std::filesystem::rename(backup, file());
  EXPECT_TRUE(arrives(waiting)) << "it waits for a lock that nobody can give";
  stop.request_stop();
  const Result<Lease> outcome = waiting.get();
  EXPECT_EQ(outcome_of(outcome), "misconfigured");
  EXPECT_THAT(outcome.message(), testing::HasSubstr("removed or replaced"));
  // Other holds of its client are not renewed for a long time, but the waiter has noticed.
  EXPECT_TRUE(eventually([&] { return other.lost().stop_requested(); }));
  EXPECT_EQ(outcome_of(other.release()), "not_held");
}

TEST_F(SqliteReplacedTest, ADatabaseThatWasMovedAwayIsNotWrittenToAnyMore) {
  Child holder(url());
  static_cast<void>(token_in(holder.ask("acquire x 3000")));
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::filesystem::rename(beside(suffix), folder() / (std::string("moved.db") + suffix));
  }
  EXPECT_EQ(holder.ask("await-lost 30000"), "lost");
  EXPECT_EQ(holder.ask("release"), "not_held");
  EXPECT_EQ(holder.finish(), 0);
  EXPECT_EQ(Backdoor(folder() / "moved.db").number("SELECT count(owner) FROM lock"), 1);
}

}  // namespace holdfast::contract
