// The database file: missing, unreadable, not ours, damaged, full. Each gets a clear error.
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "sqlite_testing.h"

namespace holdfast::contract {

class SqliteFileTest : public SqliteTest {
 protected:
  void write_file(const std::string& bytes) const {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << bytes;
  }
  // The result of opening it and, if that works, of using it.
  std::string open_and_use() const {
    Result<Client> client = Client::open(url());
    if (!client) return told(client.failure());
    const Result<Lease> lease = client->mutex("x").try_acquire();
    return lease ? "granted" : told(lease.failure());
  }
  std::string told(const Failure& failure) const {
    EXPECT_THAT(failure.message(), testing::HasSubstr(file().string())) << "it names no file";
    return code_name(failure.code());
  }
  // The same in a process without root's privileges, for which no file is forbidden.
  std::string open_and_use_unprivileged() const {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return "(no pipe)";
    const pid_t pid = fork();
    if (pid == 0) {
      if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
      const std::string said = open_and_use();
      static_cast<void>(!write(ends[1], said.data(), said.size()));
      _exit(0);
    }
    close(ends[1]);
    std::array<char, 256> bytes{};
    const ssize_t size = read(ends[0], bytes.data(), bytes.size());
    close(ends[0]);
    waitpid(pid, nullptr, 0);
    return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }
};

TEST_F(SqliteFileTest, AMissingFileIsCreatedForItsOwnerAlone) {
  const mode_t before = umask(0);
  EXPECT_EQ(open_and_use(), "granted");
  umask(before);
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    struct stat status{};
    ASSERT_EQ(stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 077, 0U) << entry.path() << " is open to others";
  }
}

TEST_F(SqliteFileTest, TheLogStaysShortWhenEverybodyComesAndGoes) {
  // Each opens it alone and has to read all of the log before it can take a lock.
  std::uintmax_t longest = 0;
  for (int i = 0; i < 150; ++i) {
    ASSERT_EQ(open_and_use(), "granted");
    longest = std::max(longest, file_size(std::filesystem::path(file().string() + "-wal")));
  }
  EXPECT_LT(longest, 300'000U);
}

TEST_F(SqliteFileTest, AnEmptyFileIsTakenAsANewDatabase) {
  write_file("");
  EXPECT_EQ(open_and_use(), "granted");
}

TEST_F(SqliteFileTest, AMissingDirectoryIsMisconfigured) {
  const Result<Client> client =
      Client::open("sqlite://" + (folder() / "no/such/locks.db").string());
  ASSERT_FALSE(client);
  EXPECT_EQ(client.code(), Code::misconfigured);
  EXPECT_THAT(client.message(), testing::HasSubstr("directory"));
}

TEST_F(SqliteFileTest, WhatIsNotARegularFileIsMisconfigured) {
  std::filesystem::create_directory(file());
  EXPECT_EQ(open_and_use(), "misconfigured");
  std::filesystem::remove(file());
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
  EXPECT_EQ(open_and_use(), "misconfigured");
}

TEST_F(SqliteFileTest, AFileThatIsNotADatabaseIsMisconfiguredAndUntouched) {
  const std::string text = "Dear diary, " + std::string(5000, '.');
  write_file(text);
  EXPECT_EQ(open_and_use(), "misconfigured");
  std::ifstream in(file(), std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
}

TEST_F(SqliteFileTest, ADatabaseOfAnotherProgramIsMisconfiguredAndUntouched) {
  write_file("");
  {
    Backdoor other(file());
    other.execute("CREATE TABLE songs(title TEXT); INSERT INTO songs VALUES('Holdfast');");
    other.execute("PRAGMA user_version = 1");
  }
  EXPECT_EQ(open_and_use(), "misconfigured");
  Backdoor other(file());
  EXPECT_EQ(other.number("SELECT count(*) FROM songs"), 1);
  EXPECT_EQ(other.number("SELECT count(*) FROM sqlite_master WHERE type = 'table'"), 1);
}

TEST_F(SqliteFileTest, ADatabaseOfAnotherProgramWithoutAVersionIsNotTakenOver) {
  write_file("");
  {
    Backdoor(file()).execute("CREATE TABLE songs(title TEXT)");
  }
  EXPECT_EQ(open_and_use(), "misconfigured");
  EXPECT_EQ(Backdoor(file()).number("SELECT count(*) FROM sqlite_master WHERE type = 'table'"), 1);
}

TEST_F(SqliteFileTest, ADatabaseOfANewerVersionIsMisconfigured) {
  ASSERT_EQ(open_and_use(), "granted");
  {
    Backdoor(file()).execute("PRAGMA user_version = 99");
  }
  const Result<Client> client = Client::open(url());
  ASSERT_FALSE(client);
  EXPECT_EQ(client.code(), Code::misconfigured);
  EXPECT_THAT(client.message(), testing::HasSubstr("newer"));
}

TEST_F(SqliteFileTest, ADamagedDatabaseIsMisconfigured) {
  ASSERT_EQ(open_and_use(), "granted");
  {
    Backdoor(file()).execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  std::string bytes(std::filesystem::file_size(file()), '\0');
  std::ifstream(file(), std::ios::binary)
      .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  for (std::size_t i = 100; i < bytes.size(); ++i) bytes[i] = static_cast<char>(0x5A);
  write_file(bytes);
  EXPECT_EQ(open_and_use(), "misconfigured");
}

TEST_F(SqliteFileTest, AnUnreadableAndAReadOnlyFileAreMisconfigured) {
  ASSERT_EQ(open_and_use(), "granted");
  ASSERT_EQ(chmod(folder().c_str(), 01777), 0);
  ASSERT_EQ(chmod(file().c_str(), 0000), 0);
  EXPECT_EQ(open_and_use_unprivileged(), "misconfigured");
  ASSERT_EQ(chmod(file().c_str(), 0444), 0);
  EXPECT_EQ(open_and_use_unprivileged(), "misconfigured");
}

TEST_F(SqliteFileTest, AReadOnlyDirectoryIsMisconfigured) {
  ASSERT_EQ(chmod(folder().c_str(), 0555), 0);
  EXPECT_EQ(open_and_use_unprivileged(), "misconfigured");
  ASSERT_EQ(chmod(folder().c_str(), 0755), 0);
}

TEST_F(SqliteFileTest, AnUnknownOptionAndAHostAreInvalid) {
  for (const std::string bad :
       {"sqlite://host/tmp/x.db", "sqlite:", "sqlite:///", "sqlite:///tmp/",
        "sqlite:///tmp/x?colour=red", "sqlite:///tmp/x?sync=maybe", "sqlite:///tmp/a%00b"}) {
    const Result<Client> client = Client::open(bad);
    ASSERT_FALSE(client) << bad;
    EXPECT_EQ(client.code(), Code::invalid_argument) << bad << ": " << client.message();
  }
  EXPECT_TRUE(Client::open(url() + "?sync=full"));
}

// A full disk is not a lost lock: who holds keeps holding, who asks is told, and when there is
// room again everything goes on.
TEST_F(SqliteFileTest, AFullDiskIsToldAndSurvived) {
  const std::filesystem::path small = folder() / "small";
  std::filesystem::create_directory(small);
  if (mount("tmpfs", small.c_str(), "tmpfs", 0, "size=512k") != 0) {
    GTEST_SKIP() << "cannot mount a small file system here";
  }
  {
    const std::string where = "sqlite://" + (small / "locks.db").string();
    Client one = Client::open(where).value();
    Client two = Client::open(where).value();
    Lease lease = one.mutex("x").acquire().value();
    const Token before = lease.token();
    {
      std::ofstream filler(small / "filler", std::ios::binary);
      const std::string block(4096, 'f');
      while (filler.write(block.data(), 4096).flush()) {
      }
    }
    std::string failed;
    for (int i = 0; i < 2000 && failed.empty(); ++i) {
      const Result<Lease> next =
          two.mutex("y" + std::to_string(i) + std::string(500, 'n')).try_acquire();
      if (!next) failed = code_name(next.code());
    }
    EXPECT_EQ(failed, "unreachable");
    EXPECT_TRUE(lease.held());
    std::filesystem::remove(small / "filler");
    EXPECT_EQ(outcome_of(two.mutex("x").try_acquire()), "busy") << "the full disk lost a lock";
    EXPECT_EQ(outcome_of(lease.renew()), "granted");
    EXPECT_EQ(outcome_of(lease.release()), "granted");
    const Result<Lease> next = two.mutex("x").try_acquire();
    ASSERT_EQ(outcome_of(next), "granted");
    EXPECT_GT(next->token(), before);
  }
  umount2(small.c_str(), MNT_DETACH);
}

TEST_F(SqliteFileTest, ARelativePathMeansTheSameAfterChdir) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directory(folder() / "elsewhere");
  std::filesystem::current_path(folder());
  Client relative = Client::open("sqlite:locks.db").value();
  std::filesystem::current_path(folder() / "elsewhere");
  Client absolute = open();
  Lease lease = absolute.mutex("x").acquire().value();
  Mutex mutex = relative.mutex("x");
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  EXPECT_TRUE(queue_reaches(absolute, 1));
  EXPECT_TRUE(lease.release());
  EXPECT_EQ(outcome_of(waiting.get()), "granted");
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::is_empty(folder() / "elsewhere")) << "files strayed";
}

TEST_F(SqliteFileTest, TwoPathsToOneFileAreOneDatabase) {
  Client one = open();
  std::filesystem::create_symlink(file(), folder() / "link.db");
  Client two = Client::open("sqlite://" + (folder() / "link.db").string()).value();
  Lease lease = one.mutex("x").acquire().value();
  EXPECT_EQ(outcome_of(two.mutex("x").try_acquire()), "busy");
  Mutex mutex = two.mutex("x");
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  EXPECT_TRUE(queue_reaches(one, 1));
  EXPECT_TRUE(lease.release());
  EXPECT_EQ(outcome_of(waiting.get()), "granted");
}

}  // namespace holdfast::contract
