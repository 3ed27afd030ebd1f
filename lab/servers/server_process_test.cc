#include "server_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

#include "certificates.h"
#include "temp_dir.h"
#include "waiting.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// The state letter of /proc/PID/stat, 0 if there is no such process.
char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t end = text.rfind(") ");
  return end == std::string::npos ? '\0' : text[end + 2];
}

class ServerProcessTest : public testing::Test {
 protected:
  std::filesystem::path log() const { return directory_.path() / "log"; }

  TempDir directory_;
};

TEST_F(ServerProcessTest, EndsWithItsObject) {
  pid_t pid = 0;
  {
    const ServerProcess sleeper({"/bin/sleep", "100"}, log());
    pid = sleeper.pid();
    EXPECT_NE(state_of(pid), '\0');
  }
  EXPECT_EQ(state_of(pid), '\0');
}

TEST_F(ServerProcessTest, AlsoEndsWhenPaused) {
  pid_t pid = 0;
  {
    ServerProcess sleeper({"/bin/sleep", "100"}, log());
    pid = sleeper.pid();
    sleeper.pause();
    EXPECT_EQ(state_of(pid), 'T');
    EXPECT_TRUE(sleeper.running());
  }
  EXPECT_EQ(state_of(pid), '\0');
}

TEST_F(ServerProcessTest, IsPausedAndResumed) {
  ServerProcess sleeper({"/bin/sleep", "100"}, log());
  sleeper.pause();
  EXPECT_EQ(state_of(sleeper.pid()), 'T');
  sleeper.resume();
  wait_for("it to run", [&] { return state_of(sleeper.pid()) == 'S'; });
}

TEST_F(ServerProcessTest, KilledIsGoneAtReturn) {
  ServerProcess sleeper({"/bin/sleep", "100"}, log());
  sleeper.kill();
  EXPECT_EQ(state_of(sleeper.pid()), '\0');
  EXPECT_FALSE(sleeper.running());
  EXPECT_EQ(sleeper.wait(), 1000 + SIGKILL);
}

TEST_F(ServerProcessTest, TerminatedCanCleanUp) {
  ServerProcess shell(
      {"/bin/sh", "-c", "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.01; done"},
      log());
  wait_for("its trap", [&] { return shell.log() == "up\n"; });
  shell.terminate();
  EXPECT_EQ(shell.wait(), 3);
  EXPECT_EQ(shell.log(), "up\nbye\n");
}

TEST_F(ServerProcessTest, LogHoldsBothOutputs) {
  ServerProcess shell({"/bin/sh", "-c", "echo out; echo err >&2; exit 5"}, log());
  EXPECT_EQ(shell.wait(), 5);
  EXPECT_EQ(shell.log(), "out\nerr\n");
}

TEST_F(ServerProcessTest, InheritsNoDescriptors) {
  const int leaked = socket(AF_INET, SOCK_STREAM, 0);
  ServerProcess shell({"/bin/sh", "-c", "ls /proc/$$/fd"}, log());
  shell.wait();
  EXPECT_EQ(shell.log(), "0\n1\n2\n");
  close(leaked);
}

TEST_F(ServerProcessTest, OutlivesTheThreadThatStartedIt) {
  std::unique_ptr<ServerProcess> sleeper;
  std::thread([&] {
    sleeper = std::make_unique<ServerProcess>(std::vector<std::string>{"/bin/sleep", "100"}, log());
  }).join();
  std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(sleeper->running());
}

// The process that the next test kills. It must be a process of its own, since it must have threads.
TEST_F(ServerProcessTest, DISABLED_WaitsForItsDeath) {
  const char* const report = std::getenv("HOLDFAST_TEST_REPORT");
  if (report == nullptr) GTEST_SKIP() << "only for DiesWithTheTestsProcess";
  const ServerProcess sleeper({"/bin/sleep", "100"}, log());
  std::ofstream(report) << directory_.path().string() << " " << sleeper.pid() << std::endl;
  for (;;) ::pause();
}

TEST_F(ServerProcessTest, DiesWithTheTestsProcess) {
  const std::string report = directory_.path() / "report";
  ServerProcess tester({"/usr/bin/env", "HOLDFAST_TEST_REPORT=" + report,
                        std::filesystem::read_symlink("/proc/self/exe"),
                        "--gtest_also_run_disabled_tests", "--gtest_filter=*WaitsForItsDeath"},
                       log());
  std::string orphaned_directory;
  pid_t pid = 0;
  wait_for("the server", [&] {
    std::ifstream file(report);
    return static_cast<bool>(file >> orphaned_directory >> pid) && state_of(pid) != '\0';
  });
  tester.kill();
  // Not ours to reap: init may leave it a zombie for a while.
  wait_for("the server's end", [&] { return state_of(pid) == '\0' || state_of(pid) == 'Z'; });
  std::filesystem::remove_all(orphaned_directory);
}

TEST(FreePortTest, IsNeverTheSame) {
  std::set<int> ports;
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(ports.insert(free_port()).second);
}

TEST(FindProgramTest, NamesThePackageThatIsMissing) {
  EXPECT_THAT(find_program("sh", "dash"), HasSubstr("/sh"));
  try {
    find_program("no-such-server", "no-such-package");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "no-such-server not found; apt-get install no-such-package");
  }
}

TEST(CertificatesTest, OnlyItsOwnAuthorityVouchesForTheServer) {
  const Certificates& certificates = Certificates::shared();
  const TempDir directory;
  const auto verifies = [&](const std::string& ca, const std::string& purpose,
                            const std::string& certificate) {
    ServerProcess openssl({find_program("openssl", "openssl"), "verify", "-CAfile", ca, "-purpose",
                           purpose, certificate},
                          directory.path() / "log");
    return openssl.wait() == 0;
  };
  EXPECT_TRUE(verifies(certificates.ca(), "sslserver", certificates.server_certificate()));
  EXPECT_TRUE(verifies(certificates.ca(), "sslclient", certificates.client_certificate()));
  EXPECT_FALSE(verifies(certificates.other_ca(), "sslserver", certificates.server_certificate()));
  EXPECT_EQ(&certificates, &Certificates::shared());
}

}  // namespace
}  // namespace holdfast::test
