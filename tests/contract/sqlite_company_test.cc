// A database in a directory that others use too: files that another user planted, permissions that
// let others in, and processes that keep a file locked.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <future>

#include "sqlite_testing.h"

namespace holdfast::contract {

namespace {

constexpr uid_t kNobody = 65534;

// A process that does something, as another user if asked to, and then stands still until it is
// killed. What it has locked stays locked meanwhile.
class Stranger {
 public:
  Stranger(uid_t user, const std::function<bool()>& deed) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      umask(0);
      const bool is_user = user == geteuid() || setuid(user) == 0;
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // Now: setuid() undoes it.
      const bool done = is_user && deed();
      const char word = done ? 'y' : 'n';
      static_cast<void>(!write(ends[1], &word, 1));
      for (;;) pause();
    }
    close(ends[1]);
    char word = 'n';
    EXPECT_EQ(read(ends[0], &word, 1), 1);
    close(ends[0]);
    EXPECT_EQ(word, 'y') << "the other process could not do what this test needs";
  }
  ~Stranger() { end(); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

// A POSIX lock on `size` bytes of the file (0: on all), which is made if it is missing.
bool lock_bytes_of(const std::string& path, off_t from, off_t size) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  struct flock bytes{};
  bytes.l_type = F_WRLCK;
  bytes.l_whence = SEEK_SET;
  bytes.l_start = from;
  bytes.l_len = size;
  return descriptor >= 0 && fcntl(descriptor, F_SETLK, &bytes) == 0;
}
bool lock_all_of(const std::string& path) { return lock_bytes_of(path, 0, 0); }

bool make_file(const std::string& path, mode_t mode) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, mode);
  return descriptor >= 0 && close(descriptor) == 0;
}

double cpu_seconds() {
  struct rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

class SqliteCompanyTest : public SqliteTest {
 protected:
  std::string beside(const std::string& suffix) const { return file().string() + suffix; }
  // Like /tmp.
  void share_folder() const { ASSERT_EQ(chmod(folder().c_str(), 01777), 0); }
  void expect_refused(const std::string& named, const std::string& because) const {
    const Result<Client> client = Client::open(url());
    ASSERT_EQ(outcome_of(client), "misconfigured") << named;
    EXPECT_THAT(client.message(), testing::HasSubstr(named));
    EXPECT_THAT(client.message(), testing::HasSubstr(because));
  }
  void expect_usable() const {
    const Result<Client> client = Client::open(url());
    EXPECT_EQ(outcome_of(client), "granted") << why(client);
  }
};

class SqliteStrangerTest : public SqliteCompanyTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to act as another user";
    share_folder();
  }
};

// ---- Locks that are in the way -----------------------------------------------------------------

TEST_F(SqliteCompanyTest, ALockOnTheLivenessFileIsToldWithTheProcessThatHasIt) {
  Stranger planter(geteuid(), [&] { return lock_all_of(beside("-live")); });
  std::string told;
  Pending pending = in_thread([&]() -> Result<Lease> {
    Result<Client> client = Client::open(url(), {.request_timeout = 500ms});
    if (!client) return client.failure();
    return client->mutex("x").try_acquire_for(1s);
  });
  EXPECT_EQ(pending.wait_for(20s), std::future_status::ready) << "it tries for ever";
  const pid_t pid = planter.pid();
  planter.end();
  const Result<Lease> lease = pending.get();
  ASSERT_EQ(outcome_of(lease), "unreachable");
  EXPECT_THAT(lease.message(), testing::HasSubstr(beside("-live")));
  EXPECT_THAT(lease.message(), testing::HasSubstr("process " + std::to_string(pid)));
}

TEST_F(SqliteCompanyTest, WaitingForALockedLivenessFileSleepsAndCanBeCancelled) {
  Stranger planter(geteuid(), [&] { return lock_all_of(beside("-live")); });
  std::stop_source stop;
  Pending pending = in_thread([&]() -> Result<Lease> {
    Result<Client> client = Client::open(url(), {.request_timeout = 1h});
    if (!client) return client.failure();
    return client->mutex("x").acquire(stop.get_token());
  });
  const double before = cpu_seconds();
  EXPECT_EQ(pending.wait_for(1s), std::future_status::timeout) << "it does not wait";
  EXPECT_LT(cpu_seconds() - before, 0.5) << "it spins";
  stop.request_stop();
  EXPECT_EQ(pending.wait_for(20s), std::future_status::ready) << "it cannot be cancelled";
  planter.end();
  EXPECT_EQ(outcome_of(pending.get()), "cancelled");
}

TEST_F(SqliteCompanyTest, AClientThatCouldNotOpenTheDatabaseDoesSoAsSoonAsItCan) {
  Stranger planter(geteuid(), [&] { return lock_all_of(beside("-live")); });
  std::promise<void> opened;
  Pending pending = in_thread([&]() -> Result<Lease> {
    Result<Client> client = Client::open(url(), {.request_timeout = 1h});
    opened.set_value();
    if (!client) return client.failure();
    return client->mutex("x").acquire();
  });
  EXPECT_EQ(opened.get_future().wait_for(20s), std::future_status::ready) << "it cannot be opened";
  EXPECT_EQ(pending.wait_for(50ms), std::future_status::timeout);
  planter.end();
  ASSERT_TRUE(arrives(pending));
  EXPECT_EQ(outcome_of(pending.get()), "granted");
}

TEST_F(SqliteCompanyTest, AProcessThatKeepsTheDatabaseLockedIsNamed) {
  expect_usable();
  Stranger writer(geteuid(), [&] {
    static Backdoor database(file());
    database.execute("BEGIN IMMEDIATE");
    return true;
  });
  Client client = open();
  const Result<Lease> lease = client.mutex("x").try_acquire();
  ASSERT_EQ(outcome_of(lease), "unreachable");
  EXPECT_THAT(lease.message(), testing::HasSubstr("process " + std::to_string(writer.pid())));
}

// SQLite waits up to ten seconds for these locks, which are held for moments only; inside our loop
// nothing else would go on meanwhile.
TEST_F(SqliteCompanyTest, ALockOnTheIndexOfTheLogDoesNotStopTheLoop) {
  expect_usable();
  Stranger planter(geteuid(), [&] {
    constexpr off_t kReadLocks = 123;  // five bytes, in SQLite's format of the -shm file
    return lock_bytes_of(beside("-shm"), kReadLocks, 5);
  });
  std::stop_source stop;
  Pending pending = in_thread([&]() -> Result<Lease> {
    Result<Client> client = Client::open(url(), {.request_timeout = 1h});
    if (!client) return client.failure();
    return client->mutex("x").acquire(stop.get_token());
  });
  EXPECT_EQ(pending.wait_for(500ms), std::future_status::timeout) << "it does not wait";
  const BootTime begin = BootClock::now();
  stop.request_stop();
  ASSERT_TRUE(arrives(pending));
  EXPECT_LT(BootClock::now() - begin, 5s) << "it slept inside SQLite";
  EXPECT_EQ(outcome_of(pending.get()), "cancelled");
}

// ---- Files of others ---------------------------------------------------------------------------

TEST_F(SqliteStrangerTest, AFileThatAnotherUserPlantedIsRefused) {
  for (const std::string suffix : {"", "-wal", "-shm", "-live", "-wake"}) {
    const std::string planted = beside(suffix);
    {
      const Stranger planter(kNobody, [&] {
        return suffix == "-wake" ? mkdir(planted.c_str(), 0777) == 0 : make_file(planted, 0666);
      });
    }
    expect_refused(planted + " belongs to uid 65534", "directory of your own");
    std::filesystem::remove(planted);
  }
  expect_usable();
}

TEST_F(SqliteStrangerTest, AFileThatAnotherUserPlantedBesideAnOldDatabaseIsRefused) {
  expect_usable();
  for (const std::string suffix : {"-wal", "-shm", "-live", "-wake"}) {
    const std::string planted = beside(suffix);
    std::filesystem::remove_all(planted);
    {
      const Stranger planter(kNobody, [&] {
        return suffix == "-wake" ? mkdir(planted.c_str(), 0777) == 0 : make_file(planted, 0666);
      });
    }
    expect_refused(planted + " belongs to uid 65534", "root");
    std::filesystem::remove(planted);
    expect_usable();
  }
}

TEST_F(SqliteStrangerTest, ASymbolicLinkThatAnotherUserPlantedIsRefused) {
  const std::string victim = folder() / "victim";
  ASSERT_TRUE(make_file(victim, 0600));
  for (const std::string suffix : {"", "-wal", "-shm", "-live", "-wake"}) {
    const std::string planted = beside(suffix);
    {
      const Stranger planter(kNobody,
                             [&] { return symlink(victim.c_str(), planted.c_str()) == 0; });
    }
    expect_refused(planted + " belongs to uid 65534", "planted");
    std::filesystem::remove(planted);
  }
  EXPECT_EQ(std::filesystem::file_size(victim), 0U);
}

TEST_F(SqliteStrangerTest, AWakeDirectoryThatIsPlantedLaterIsNotListenedIn) {
  Client one = open();
  Client two = open();
  {
    const Stranger planter(kNobody, [&] { return mkdir(beside("-wake").c_str(), 0777) == 0; });
  }
  Lease lease = one.mutex("x").acquire().value();
  Mutex mutex = two.mutex("x");
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(one, 1));
  EXPECT_TRUE(std::filesystem::is_empty(beside("-wake"))) << "a stranger could send us grants";
  ASSERT_TRUE(lease.release());
  ASSERT_TRUE(arrives(waiting)) << "it does not look for itself";
  EXPECT_EQ(outcome_of(waiting.get()), "granted");
}

TEST_F(SqliteStrangerTest, EachUserHasADatabaseOfItsOwnInASharedDirectory) {
  const Stranger other(kNobody, [&] {
    Result<Client> client = Client::open(url());
    return client && client->mutex("x").try_acquire();
  });
  expect_refused(file().string() + " belongs to uid 65534", "run as its owner");
}

TEST_F(SqliteStrangerTest, ADirectoryInWhichAnotherUserCanReplaceFilesIsRefused) {
  expect_usable();
  ASSERT_EQ(chmod(folder().c_str(), 0777), 0);
  expect_refused("directory " + folder().string(), "chmod +t");
  ASSERT_EQ(chmod(folder().c_str(), 0700), 0);
  ASSERT_EQ(chown(folder().c_str(), kNobody, kNobody), 0);
  expect_refused("directory " + folder().string(), "uid 65534");
  ASSERT_EQ(chown(folder().c_str(), 0, 0), 0);
  expect_usable();
}

TEST_F(SqliteCompanyTest, AFileThatOthersCanWriteIsRefused) {
  {
    Client client = open();
    Lease lease = client.mutex("x").acquire().value();
    Mutex mutex = client.mutex("x");
    EXPECT_EQ(outcome_of(mutex.try_acquire_for(10ms)), "busy");  // Makes the directory.
  }
  for (const std::string suffix : {"", "-wal", "-shm", "-live", "-wake"}) {
    const std::string path = beside(suffix);
    struct stat status{};
    ASSERT_EQ(stat(path.c_str(), &status), 0) << path;
    ASSERT_EQ(chmod(path.c_str(), status.st_mode | S_IWOTH), 0);
    expect_refused(path, "chmod go-w");
    if (!suffix.empty()) {
      ASSERT_EQ(chmod(path.c_str(), status.st_mode | S_IWGRP), 0);
      expect_refused(path, "chmod go-w");
    }
    ASSERT_EQ(chmod(path.c_str(), status.st_mode), 0);
    expect_usable();
  }
}

TEST_F(SqliteCompanyTest, TheFilesBesideItMayBeOpenToAGroupToWhichTheDatabaseIs) {
  expect_usable();
  for (const std::string suffix : {"", "-wal", "-shm", "-live"}) {
    ASSERT_EQ(chmod(beside(suffix).c_str(), 0660), 0);
  }
  expect_usable();
}

// ---- A hostile member of the group (tests/cli/shared_users_test.cc has the others) --------------

// Sockets of dead processes are removed. The member writes their numbers into the database, and decides where the
// directory leads once it was checked.
TEST_F(SqliteStrangerTest, NoFileElsewhereIsRemovedForADeadProcess) {
  const std::filesystem::path shared = folder() / "shared" / "locks.db";
  Client client = Client::open("sqlite://" + shared.string() + "?group=nogroup").value();
  struct stat live{};
  ASSERT_EQ(stat((shared.string() + "-live").c_str(), &live), 0);
  Backdoor(shared).execute("INSERT INTO process VALUES(4711, " + std::to_string(live.st_dev) +
                           ", " + std::to_string(live.st_ino) + ", 1, 1, 1, 'a dead one')");
  const std::filesystem::path elsewhere = folder() / "private";
  ASSERT_EQ(mkdir(elsewhere.c_str(), 0700), 0);
  ASSERT_TRUE(make_file(elsewhere / "4711", 0600));
  ASSERT_EQ(symlink(elsewhere.c_str(), (shared.string() + "-wake").c_str()), 0);
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "granted");
  EXPECT_EQ(Backdoor(shared).number("SELECT count(*) FROM process WHERE id = 4711"), 0);
  EXPECT_TRUE(std::filesystem::exists(elsewhere / "4711"));
}

}  // namespace holdfast::contract
