// holdfast run below a service manager, and as the first process of a container.
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <fstream>

#include "cli_fixture.h"

namespace holdfast::test {
namespace {

// A service manager: the socket that NOTIFY_SOCKET names.
class Manager {
 public:
  explicit Manager(std::string address)
      : address_(std::move(address)), socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, address_.data(), address_.size());
    if (address_.front() == '@') name.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&name), size), 0) << address_;
  }
  ~Manager() { close(socket_); }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  const std::string& address() const { return address_; }
  // All messages so far, a line each for their lines.
  std::string heard() {
    char message[4096];
    for (ssize_t got = 0; (got = recv(socket_, message, sizeof message, MSG_DONTWAIT)) > 0;) {
      heard_.append(message, static_cast<std::size_t>(got)) += '\n';
    }
    return heard_;
  }
  bool hears(const std::string& text) {
    return eventually([&] { return heard().find(text) != std::string::npos; });
  }

 private:
  const std::string address_;
  const int socket_;
  std::string heard_;
};

class NotifyTest : public CliTest {
 protected:
  Process start_service(const Manager& manager, const Words& words) const {
    return start(words, {.environment = {{"NOTIFY_SOCKET", manager.address()}}});
  }
};

TEST_F(NotifyTest, TheManagerHearsWhenTheLockIsHeldAndWhenTheCommandHasEnded) {
  for (const std::string& address :
       {path("notify"), "@holdfast-test-" + std::to_string(getpid())}) {
    Manager manager(address);
    Process service = start_service(manager, {"run", "a", "b", "--notify", "--", "sh", "-c",
                                              "echo up; cat >/dev/null; sleep 600"});
    ASSERT_TRUE(manager.hears("READY=1\nSTATUS=holds 'a' (token "))
        << manager.heard() << service.err();
    EXPECT_EQ(manager.heard().find("STOPPING=1"), std::string::npos);
    service.kill(SIGTERM);
    EXPECT_EQ(service.wait().status, 128 + SIGTERM);
    EXPECT_TRUE(manager.hears("STOPPING=1")) << manager.heard();
  }
}

TEST_F(NotifyTest, WhileItWaitsTheStatusSaysForWhom) {
  Process holder =
      start({"run", "x", "--label", "alice", "--", "sh", "-c", "echo up; exec sleep 600"});
  ASSERT_TRUE(eventually([&] { return holder.out() == "up\n"; })) << holder.err();
  Manager manager(path("notify"));
  Process service = start_service(manager, {"run", "x", "--notify", "--quiet", "--", "true"});
  EXPECT_TRUE(manager.hears("STATUS=waiting for 'x', held by alice since ")) << manager.heard();
  EXPECT_EQ(manager.heard().find("READY"), std::string::npos) << manager.heard();
  holder.kill(SIGTERM);
  EXPECT_EQ(service.wait().status, 0) << service.err();
  EXPECT_TRUE(manager.hears("READY=1"));
  EXPECT_EQ(service.err(), "");
}

TEST_F(NotifyTest, TheLossIsInTheStatus) {
  Manager manager(path("notify"));
  Process service =
      start_service(manager, {"run", "x", "--ttl", "2s", "--notify", "--", "sleep", "600"});
  ASSERT_TRUE(manager.hears("READY=1")) << service.err();
  const auto token = json({"show", "x"})["holders"][0]["token"].get<std::uint64_t>();
  ASSERT_EQ(run({"break", "x", "--token", std::to_string(token)}).status, 0);
  EXPECT_EQ(service.wait().status, 76);
  EXPECT_TRUE(manager.hears("STATUS=lost the lock 'x'")) << manager.heard();
}

TEST_F(NotifyTest, OnlyOneOfRunAndCommandSpeaksToTheManager) {
  Manager manager(path("notify"));
  const Words tail = {"--", "sh", "-c", "echo ${NOTIFY_SOCKET-none}"};
  Words words = {"run", "x"};
  words.insert(words.end(), tail.begin(), tail.end());
  EXPECT_EQ(start_service(manager, words).wait().out, manager.address() + "\n");
  EXPECT_EQ(manager.heard(), "");
  words.insert(words.begin() + 2, "--notify");
  EXPECT_EQ(start_service(manager, words).wait().out, "none\n");
}

TEST_F(NotifyTest, AManagerThatIsGoneIsNoObstacle) {
  const Output nobody = run({"run", "x", "--notify", "--", "echo", "ran"});
  EXPECT_EQ(nobody.out, "ran\n");
  EXPECT_EQ(nobody.err, "");
  for (const std::string& address : {path("nobody"), path(std::string(200, 'a'))}) {
    const Output gone = run({"run", "x", "--notify", "--", "echo", "ran"},
                            {.environment = {{"NOTIFY_SOCKET", address}}});
    EXPECT_EQ(gone.status, 0);
    EXPECT_EQ(gone.out, "ran\n");
    EXPECT_NE(gone.err.find("service manager"), std::string::npos) << gone.err;
  }
}

// ---- The first process ---------------------------------------------------------------------------

class FirstProcessTest : public CliTest {
 protected:
  void SetUp() override {
    for (const char* user : {"", "-Ur"}) {
      unshare_ = {"unshare", "-pf", "--mount-proc", "--kill-child"};
      if (*user != '\0') unshare_.insert(unshare_.begin() + 1, user);
      Words probe = unshare_;
      probe.emplace_back("true");
      if (Process(probe).wait().status == 0) return;
    }
    GTEST_SKIP() << "no pid namespaces here";
  }
  // As in a container: no HOME, no PATH, nothing.
  Process start_first(const Words& words) const {
    Words all = unshare_;
    all.insert(all.end(), {"env", "-i", HOLDFAST_BINARY, "--on", url()});
    all.insert(all.end(), words.begin(), words.end());
    return start_plain(all);
  }
  static pid_t runner_of(const Process& unshare) {
    const std::vector<pid_t> children = children_of(unshare.pid());
    return children.empty() ? 0 : children[0];
  }

  Words unshare_;
};

TEST_F(FirstProcessTest, RunsTheCommandAndReturnsItsStatus) {
  const Output output = start_first({"run", "x", "--", "/bin/sh", "-c",
                                     "echo $HOLDFAST_NAME ${HOME-homeless} $PPID; exit 7"})
                            .wait();
  EXPECT_EQ(output.status, 7) << output.err;
  EXPECT_TRUE(output.out.starts_with("x homeless ")) << output.out;
}

TEST_F(FirstProcessTest, PassesSignalsOn) {
  Process first =
      start_first({"run", "x", "--", "/bin/sh", "-c",
                   "trap 'echo asked; exit 3' TERM; echo up; while :; do /bin/sleep 0.05; done"});
  ASSERT_TRUE(eventually([&] { return first.out() == "up\n"; })) << first.err();
  kill(runner_of(first), SIGTERM);
  const Output output = first.wait();
  EXPECT_EQ(output.out, "up\nasked\n");
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(json({"show", "x"})["holders"].size(), 0U);
}

TEST_F(FirstProcessTest, EndsOfASignalWhileItWaits) {
  Process holder = start({"run", "x", "--", "sh", "-c", "echo up; exec sleep 600"});
  ASSERT_TRUE(eventually([&] { return holder.out() == "up\n"; })) << holder.err();
  Process first = start_first({"run", "x", "--", "/bin/true"});
  ASSERT_TRUE(eventually([&] { return json({"show", "x"})["waiters"].size() == 1; }));
  kill(runner_of(first), SIGTERM);
  EXPECT_EQ(first.wait().status, 143);
  EXPECT_EQ(json({"show", "x"})["waiters"].size(), 0U);
}

// Orphans of `podman exec` fall to the first process, which is not above the guard.
TEST_F(FirstProcessTest, ReapsOrphansThatAreNotTheCommands) {
  Process first = start_first({"run", "x", "--", "/bin/sh", "-c", "echo up; exec /bin/sleep 600"});
  ASSERT_TRUE(eventually([&] { return first.out() == "up\n"; })) << first.err();
  const pid_t runner = runner_of(first);
  Words enter = {"nsenter",
                 "-t",
                 std::to_string(runner),
                 "-p",
                 "--",
                 "sh",
                 "-c",
                 "for i in 1 2 3 4 5; do sleep 0.3 & done; exit 0"};
  if (unshare_[1] == "-Ur") enter.insert(enter.begin() + 3, {"-U", "--preserve-credentials"});
  Process entered = start_plain(enter);
  const auto orphans = [&] { return children_of(runner).size() - 1; };  // The keeper is its own.
  EXPECT_TRUE(eventually([&] { return orphans() == 5; })) << orphans();
  EXPECT_EQ(entered.wait().status, 0);
  EXPECT_TRUE(eventually([&] { return orphans() == 0; })) << orphans() << " are left as zombies";
  EXPECT_TRUE(first.running());
  kill(runner, SIGTERM);
  first.wait();
}

TEST_F(FirstProcessTest, BackgroundProcessesOfTheCommandAreReapedBeforeItEnds) {
  Process first =
      start_first({"run", "x", "--", "/bin/sh", "-c",
                   "(/bin/sleep 0.1 &) ; (/bin/sleep 0.1 &) ; echo up; exec /bin/sleep 600"});
  ASSERT_TRUE(eventually([&] { return first.out() == "up\n"; })) << first.err();
  const pid_t guard = guard_of(runner_of(first));
  ASSERT_GT(guard, 0);
  EXPECT_TRUE(eventually([&] { return children_of(guard).size() == 1; }));
  kill(runner_of(first), SIGTERM);
  first.wait();
}

TEST(HomelessTest, WithoutHomeAndUrlTheMessageSaysWhatToDo) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to be a user without a home";
  const Output output =
      Process({"setpriv", "--reuid", "42424", "--regid", "42424", "--clear-groups", "env", "-i",
               HOLDFAST_BINARY, "run", "x", "--", "true"})
          .wait();
  EXPECT_EQ(output.status, 78);
  EXPECT_NE(output.err.find("set HOLDFAST_URL"), std::string::npos) << output.err;
}

}  // namespace
}  // namespace holdfast::test
