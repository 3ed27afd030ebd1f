// A process that is stopped inside a write transaction keeps everybody else from writing: SQLite has one write
// lock per file, which only its owner gives back. What the others are told, and what ends it.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "sqlite_testing.h"

namespace holdfast::contract {

namespace {

// Made before anything of SQLite is open, of which a forked process must not inherit anything.
class FrozenWriter {
 public:
  explicit FrozenWriter(const std::filesystem::path& database) {
    std::array<int, 2> orders{};
    std::array<int, 2> answers{};
    EXPECT_EQ(pipe2(orders.data(), O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(answers.data(), O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      char word = 0;
      close(orders[1]);
      if (read(orders[0], &word, 1) != 1) _exit(1);
      Backdoor writer(database);
      writer.execute("BEGIN IMMEDIATE");
      static_cast<void>(!write(answers[1], &word, 1));
      for (;;) pause();
    }
    close(orders[0]);
    close(answers[1]);
    order_ = orders[1];
    answer_ = answers[0];
  }
  ~FrozenWriter() {
    end();
    close(order_);
    close(answer_);
  }
  FrozenWriter(const FrozenWriter&) = delete;
  FrozenWriter& operator=(const FrozenWriter&) = delete;

  // Returns when it has the write lock and stands still.
  void freeze() const {
    char word = 'w';
    ASSERT_EQ(write(order_, &word, 1), 1);
    ASSERT_EQ(read(answer_, &word, 1), 1);
    kill(pid_, SIGSTOP);
    waitpid(pid_, nullptr, WUNTRACED);
  }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int order_ = -1;
  int answer_ = -1;
};

}  // namespace

using SqliteFrozenWriter = SqliteTest;

TEST_F(SqliteFrozenWriter, HoldersAreToldInTimeAndWaitersGetInWhenItIsGone) {
  FrozenWriter writer(file());
  Client client = open();
  Client other = open();
  Lease lease = client.mutex("x", {.ttl = 2s}).acquire().value();
  Mutex mutex = other.mutex("x", {.ttl = 2s});
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(client, 1));
  writer.freeze();
  ASSERT_TRUE(eventually([&] { return lease.lost().stop_requested(); })) << "it was never told";
  EXPECT_LT(BootClock::now(), lease.valid_until() + 1s) << "told long after its end";
  EXPECT_FALSE(lease.held());
  EXPECT_FALSE(is_ready(waiting)) << "granted while nobody can write";
  writer.end();
  ASSERT_TRUE(arrives(waiting));
  const Result<Lease> next = waiting.get();
  ASSERT_EQ(outcome_of(next), "granted") << why(next);
  EXPECT_GT(next->token(), lease.token());
}

TEST_F(SqliteFrozenWriter, IsNamedToThoseWhoTryAndWaitsForItAreCancelled) {
  FrozenWriter writer(file());
  Client client = Client::open(url(), {.request_timeout = 500ms}).value();
  Lease lease = client.mutex("y").acquire().value();
  writer.freeze();
  const Result<Lease> tried = client.mutex("x").try_acquire_for(1s);
  EXPECT_EQ(outcome_of(tried), "unreachable");
  EXPECT_THAT(tried.message(), testing::HasSubstr("process " + std::to_string(writer.pid())));
  std::stop_source stop;
  Pending waiting = in_thread([&] { return client.mutex("x").acquire(stop.get_token()); });
  pause_for(50ms);
  stop.request_stop();
  ASSERT_TRUE(arrives(waiting));
  writer.end();
  const Result<Lease> now = client.mutex("x").try_acquire_for(kPatience);
  EXPECT_EQ(outcome_of(now), "granted") << why(now);
}

}  // namespace holdfast::contract
