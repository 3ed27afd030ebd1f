// A database of the whole machine: root and the members of a group exclude each other, strangers stay outside, and
// no member can lead root to a file elsewhere. REQUIRES: root.
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>

#include "cli_fixture.h"

namespace holdfast::test {
namespace {

// Debian's: the first two have this primary group, the third has another.
constexpr const char* kGroup = "nogroup";
constexpr const char* kMembers[] = {"root", "nobody", "_apt"};
constexpr const char* kStranger = "www-data";

class SharedUsersTest : public CliTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    for (const char* user : {"nobody", "_apt", kStranger}) {
      if (getpwnam(user) == nullptr) GTEST_SKIP() << "there is no user " << user;
    }
    const group* entry = getgrnam(kGroup);
    if (entry == nullptr) GTEST_SKIP() << "there is no group " << kGroup;
    group_ = entry->gr_gid;
    // As /run/lock is: everybody may write there.
    ASSERT_EQ(chmod(directory_.c_str(), 01777), 0);
  }

  std::string folder() const { return path("shared"); }
  std::string file(const std::string& suffix = "") const { return folder() + "/locks.db" + suffix; }
  std::string shared_url() const { return "sqlite://" + file() + "?group=" + kGroup; }
  static uid_t uid(const std::string& user) { return getpwnam(user.c_str())->pw_uid; }

  Process start_as(const std::string& user, const Words& words,
                   const std::string& mask = "077") const {
    const std::string id = std::to_string(uid(user));
    Words all = {"setpriv",
                 "--reuid",
                 id,
                 "--regid",
                 std::to_string(getpwnam(user.c_str())->pw_gid),
                 "--init-groups",
                 "--",
                 "sh",
                 "-c",
                 "umask " + mask + "; exec \"$0\" \"$@\"",
                 HOLDFAST_BINARY,
                 "--on",
                 shared_url()};
    if (user == "root") all.erase(all.begin(), all.begin() + 7);
    all.insert(all.end(), words.begin(), words.end());
    return start_plain(std::move(all));
  }
  Output run_as(const std::string& user, const Words& words) const {
    return start_as(user, words).wait();
  }
  Process holder(const std::string& user) const {
    Process process =
        start_as(user, {"run", "x", "--ttl", "10m", "--", "sh", "-c", "echo up; exec sleep 600"});
    EXPECT_TRUE(eventually([&] { return process.out() == "up\n"; }))
        << user << ": " << process.err();
    return process;
  }
  bool has_waiter() const {
    return run_as("root", {"show", "x"}).out.find("WAITER") != std::string::npos;
  }
  void expect_refused(const std::string& user, const std::string& reason) const {
    const Output output = run_as(user, {"run", "x", "-n", "--", "true"});
    EXPECT_EQ(output.status, 78) << user << ": " << output.err;
    EXPECT_NE(output.err.find(reason), std::string::npos) << user << ": " << output.err;
  }
  void expect_shared(const std::string& what, mode_t mode) const {
    struct stat found{};
    ASSERT_EQ(lstat(what.c_str(), &found), 0) << what;
    EXPECT_EQ(found.st_mode & 07777, mode) << what;
    EXPECT_EQ(found.st_gid, group_) << what;
  }
  void use_once() const { ASSERT_EQ(run_as("nobody", {"run", "x", "--", "true"}).status, 0); }

  gid_t group_ = 0;
};

TEST_F(SharedUsersTest, EachExcludesEachOtherAndHandsOver) {
  for (const char* first : kMembers) {
    for (const char* second : kMembers) {
      Process process = holder(first);
      EXPECT_EQ(run_as(second, {"run", "x", "-n", "--", "true"}).status, 75)
          << first << ", " << second;
      Process waiter = start_as(second, {"run", "x", "--", "true"});
      ASSERT_TRUE(eventually([&] { return has_waiter(); }))
          << run_as("root", {"show", "x"}).out << waiter.err();
      process.kill(SIGTERM);
      const Output output = waiter.wait();
      EXPECT_EQ(output.status, 0) << first << ", " << second << ": " << output.err;
      process.wait();
    }
  }
}

TEST_F(SharedUsersTest, AHolderOfAnotherUserThatDiesIsNoticedAtOnce) {
  for (const char* first : kMembers) {
    for (const char* second : kMembers) {
      Process process = holder(first);
      Process waiter = start_as(second, {"run", "x", "--", "true"});
      ASSERT_TRUE(eventually([&] { return has_waiter(); }));
      process.kill(SIGKILL);
      // The ttl is ten minutes.
      EXPECT_EQ(waiter.wait().status, 0) << first << ", " << second;
    }
  }
}

TEST_F(SharedUsersTest, WhateverTheUmaskAndWhoeverIsFirstAllFilesAreTheGroups) {
  for (const char* first : kMembers) {
    for (const char* mask : {"077", "022", "000"}) {
      std::filesystem::remove_all(folder());
      Process process =
          start_as(first, {"run", "x", "--", "sh", "-c", "echo up; exec sleep 600"}, mask);
      ASSERT_TRUE(eventually([&] { return process.out() == "up\n"; })) << process.err();
      Process waiter = start_as("nobody", {"run", "x", "--", "true"}, mask);
      const auto sockets = [&] { return std::filesystem::directory_iterator(file("-wake")); };
      ASSERT_TRUE(eventually(
          [&] { return std::filesystem::exists(file("-wake")) && sockets() != end(sockets()); }));
      expect_shared(folder(), 02770);
      expect_shared(file("-wake"), 02770);
      for (const char* suffix : {"", "-wal", "-shm", "-live"}) expect_shared(file(suffix), 0660);
      EXPECT_TRUE(eventually([&] {
        struct stat found{};
        return lstat(sockets()->path().c_str(), &found) == 0 && (found.st_mode & 07777) == 0660;
      }));
      process.kill(SIGTERM);
      EXPECT_EQ(waiter.wait().status, 0);
      process.wait();
    }
  }
  // Nothing half made is left.
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    EXPECT_EQ(entry.path().string().find("-new-"), std::string::npos) << entry.path();
  }
}

TEST_F(SharedUsersTest, ManyWhoMakeItAtTheSameMomentAllComeIn) {
  for (int round = 0; round < 5; ++round) {
    std::filesystem::remove_all(folder());
    std::vector<Process> processes;
    for (int i = 0; i < 12; ++i) {
      processes.push_back(
          start_as(kMembers[i % 3], {"run", "x" + std::to_string(i % 5), "--", "true"}));
    }
    for (Process& process : processes) {
      const Output output = process.wait();
      EXPECT_EQ(output.status, 0) << output.err;
    }
  }
}

TEST_F(SharedUsersTest, HandlesOfOneUserAreReleasedByAnother) {
  const Output handle = run_as("nobody", {"acquire", "x"});
  EXPECT_EQ(run_as("_apt", {"release", handle.out}).status, 0);
}

// ---- Strangers -----------------------------------------------------------------------------------

TEST_F(SharedUsersTest, AStrangerIsToldToJoinTheGroup) {
  use_once();
  expect_refused(kStranger, "is not in it");
  const Output none =
      start_plain({HOLDFAST_BINARY, "--on", "sqlite://" + file() + "?group=no-such-group", "run",
                   "x", "--", "true"})
          .wait();
  EXPECT_EQ(none.status, 78);
  EXPECT_NE(none.err.find("groupadd"), std::string::npos) << none.err;
}

TEST_F(SharedUsersTest, FilesOfAStrangerAreRefused) {
  for (const char* suffix : {"", "-wal", "-shm", "-live", "-wake"}) {
    use_once();
    Process process = holder("root");  // with a waiter, so that there is a -wake
    Process waiter = start_as("nobody", {"run", "x", "--", "true"});
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("-wake")); }));
    process.kill(SIGTERM);
    waiter.wait();
    process.wait();
    ASSERT_EQ(chown(file(suffix).c_str(), uid(kStranger), group_), 0);
    for (const char* user : {"root", "nobody"})
      expect_refused(user, "neither root nor in the group");
    std::filesystem::remove_all(folder());
  }
  use_once();
  ASSERT_EQ(chown(folder().c_str(), uid(kStranger), group_), 0);
  expect_refused("root", "neither root nor in the group");
}

TEST_F(SharedUsersTest, ADirectoryThatAStrangerMadeFirstIsRefused) {
  ASSERT_EQ(mkdir(folder().c_str(), 02770), 0);
  ASSERT_EQ(chown(folder().c_str(), uid(kStranger), getpwnam(kStranger)->pw_gid), 0);
  for (const char* user : {"root", "nobody"})
    expect_refused(user, user == std::string("root") ? "neither root" : "");
  EXPECT_TRUE(std::filesystem::is_empty(folder()));
}

TEST_F(SharedUsersTest, OtherModesAndGroupsAreRefusedWithWhatToDo) {
  use_once();
  for (const char* suffix : {"", "-wal", "-shm", "-live"}) {
    for (const mode_t mode : {0600U, 0640U, 0664U, 0666U}) {
      ASSERT_EQ(chmod(file(suffix).c_str(), mode), 0);
      expect_refused("root", "run chmod 0660");
    }
    ASSERT_EQ(chmod(file(suffix).c_str(), 0660), 0);
    ASSERT_EQ(chown(file(suffix).c_str(), 0, 0), 0);
    expect_refused("root", std::string("run chgrp ") + kGroup);
    ASSERT_EQ(chown(file(suffix).c_str(), 0, group_), 0);
  }
  for (const mode_t mode : {0770U, 02777U, 03770U, 01777U, 02775U}) {
    ASSERT_EQ(chmod(folder().c_str(), mode), 0);
    expect_refused("root", "run chmod 2770");
    expect_refused("nobody", "run chmod 2770");
  }
  ASSERT_EQ(chmod(folder().c_str(), 02770), 0);
  EXPECT_EQ(run_as("root", {"run", "x", "--", "true"}).status, 0);
}

// A group's database beside everybody's files would have a directory of everybody's.
TEST_F(SharedUsersTest, ADatabaseRightInAStickyDirectoryIsRefused) {
  const std::string url = "sqlite://" + path("locks.db") + "?group=" + kGroup;
  const Output output =
      start_plain({HOLDFAST_BINARY, "--on", url, "run", "x", "--", "true"}).wait();
  EXPECT_EQ(output.status, 78);
  EXPECT_NE(output.err.find("directory " + directory_), std::string::npos) << output.err;
  EXPECT_FALSE(std::filesystem::exists(path("locks.db")));
}

// ---- A hostile member ----------------------------------------------------------------------------

class HostileMemberTest : public SharedUsersTest {
 protected:
  void SetUp() override {
    SharedUsersTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(mkdir(path("private").c_str(), 0700), 0);
    std::ofstream(secret()) << "root's own";
    ASSERT_EQ(chmod(secret().c_str(), 0600), 0);
  }
  std::string secret() const { return path("private/secret"); }
  void expect_untouched() const {
    struct stat found{};
    ASSERT_EQ(stat(secret().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777, 0600U);
    EXPECT_EQ(found.st_gid, 0U);
    EXPECT_EQ(read_all(secret()), "root's own");
  }
};

TEST_F(HostileMemberTest, LinksLeadRootNowhere) {
  for (const char* suffix : {"", "-wal", "-shm", "-live", "-wake"}) {
    use_once();
    std::filesystem::remove_all(file(suffix));
    ASSERT_EQ(symlink(secret().c_str(), file(suffix).c_str()), 0);
    ASSERT_EQ(lchown(file(suffix).c_str(), uid("nobody"), group_), 0);
    const Output output = run_as("root", {"run", "x", "-n", "--", "true"});
    EXPECT_EQ(output.status, 78) << suffix << ": " << output.err;
    expect_untouched();
    std::filesystem::remove_all(folder());
  }
}

TEST_F(HostileMemberTest, DanglingLinksMakeNoFile) {
  for (const char* suffix : {"", "-wal", "-shm", "-live"}) {
    use_once();
    std::filesystem::remove_all(file(suffix));
    ASSERT_EQ(symlink(path("private/new").c_str(), file(suffix).c_str()), 0);
    EXPECT_EQ(run_as("root", {"run", "x", "-n", "--", "true"}).status, 78) << suffix;
    EXPECT_FALSE(std::filesystem::exists(path("private/new"))) << suffix;
    std::filesystem::remove_all(folder());
  }
}

TEST_F(HostileMemberTest, ASecondNameOfAnotherFileIsRefused) {
  ASSERT_EQ(chmod(secret().c_str(), 0660), 0);
  ASSERT_EQ(chown(secret().c_str(), 0, group_), 0);
  for (const char* suffix : {"", "-wal", "-shm", "-live"}) {
    use_once();
    std::filesystem::remove(file(suffix));
    ASSERT_EQ(link(secret().c_str(), file(suffix).c_str()), 0);
    expect_refused("root", "several hard links");
    EXPECT_EQ(read_all(secret()), "root's own");
    std::filesystem::remove_all(folder());
  }
}

TEST_F(HostileMemberTest, FifosAndSocketsHoldNobodyUp) {
  for (const char* suffix : {"", "-wal", "-shm", "-live"}) {
    use_once();
    std::filesystem::remove(file(suffix));
    ASSERT_EQ(mkfifo(file(suffix).c_str(), 0660), 0);
    ASSERT_EQ(chown(file(suffix).c_str(), uid("nobody"), group_), 0);
    expect_refused("root", "not a regular file");
    std::filesystem::remove_all(folder());
  }
}

// The link is root's in /var/lock -> /run/lock, and anybody's here.
TEST_F(HostileMemberTest, ALinkToTheDirectoryIsFollowedOnlyIfItIsRoots) {
  use_once();
  ASSERT_EQ(rename(folder().c_str(), path("elsewhere").c_str()), 0);
  ASSERT_EQ(symlink(path("elsewhere").c_str(), folder().c_str()), 0);
  EXPECT_EQ(run_as("root", {"run", "x", "--", "true"}).status, 0);
  ASSERT_EQ(lchown(folder().c_str(), uid(kStranger), 0), 0);
  expect_refused("root", "symbolic link");
}

}  // namespace
}  // namespace holdfast::test
