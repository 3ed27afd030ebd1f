// The line for those who wait, the labels that others see, and runs that would wait for themselves.
#include "cli_fixture.h"
#include "pty.h"

namespace holdfast::test {
namespace {

class WaitTest : public CliTest {
 protected:
  // A run that holds "x" until it is killed.
  Process holder(const Words& options = {}) const {
    Words words = {"run", "x"};
    words.insert(words.end(), options.begin(), options.end());
    for (const char* word : {"--", "sh", "-c", "echo up; exec sleep 600"}) words.push_back(word);
    Process process = start(words);
    EXPECT_TRUE(eventually([&] { return process.out() == "up\n"; })) << process.err();
    return process;
  }
  std::string label_of_holder() const { return json({"show", "x"})["holders"][0]["label"]; }
  auto waiters() const { return json({"show", "x"})["waiters"].size(); }
};

TEST_F(WaitTest, OnATerminalALineTellsWhoHoldsTheLockAndIsErasedInTheEnd) {
  Process first = holder({"--label", "alice at work"});
  Process second = start({"run", "x", "--", "sleep", "0.1"});
  ASSERT_TRUE(eventually([&] { return waiters() == 1; }));
  Pty pty;
  Process third = start_plain(
      {HOLDFAST_BINARY, "--on", url(), "run", "x", "--", "sh", "-c", "echo ran-$((1+1))"},
      {.environment = {{"TERM", "xterm"}}, .terminal = pty.name()});
  ASSERT_TRUE(pty.sees("waiting for 'x', held by alice at work since ")) << pty.screen();
  EXPECT_TRUE(pty.sees(", 1 before us")) << pty.screen();
  first.kill(SIGTERM);
  EXPECT_TRUE(pty.sees("\r\x1b[K")) << pty.screen();
  EXPECT_TRUE(pty.sees("ran-2")) << pty.screen();
  EXPECT_EQ(third.wait().status, 0);
  EXPECT_EQ(second.wait().status, 0);
}

// The part behind a long command line is the one that changes.
TEST_F(WaitTest, OnANarrowTerminalTheCommandIsCutNotTheTimes) {
  const std::string command = "echo up; exec sleep 600 # " + std::string(100, 'x');
  Process first = start({"run", "x", "--", "sh", "-c", command});
  ASSERT_TRUE(eventually([&] { return first.out() == "up\n"; })) << first.err();
  Pty pty(80);
  Process second = start_plain({HOLDFAST_BINARY, "--on", url(), "run", "x", "--", "true"},
                               {.environment = {{"TERM", "xterm"}}, .terminal = pty.name()});
  ASSERT_TRUE(pty.sees("... since ")) << pty.screen();
  const std::string line = pty.screen().substr(0, pty.screen().find("\x1b[K"));
  EXPECT_LE(line.size(), 80U) << line;
  EXPECT_NE(line.find("held by "), std::string::npos) << line;
  first.kill(SIGTERM);
  EXPECT_EQ(second.wait().status, 0);
}

TEST_F(WaitTest, ALogIsNotTroubledAtOnceAndQuietIsQuiet) {
  Process first = holder();
  EXPECT_EQ(run({"run", "x", "--wait", "3s", "--", "true"}).err.find("waiting"), std::string::npos);
  Pty pty;
  Process quiet = start_plain(
      {HOLDFAST_BINARY, "--on", url(), "run", "x", "--quiet", "--wait", "3s", "--", "true"},
      {.environment = {{"TERM", "xterm"}}, .terminal = pty.name()});
  EXPECT_EQ(quiet.wait().status, 75);
  EXPECT_FALSE(pty.sees("waiting", std::chrono::seconds(0))) << pty.screen();
}

TEST_F(WaitTest, TheLabelNamesUserHostProcessAndCommand) {
  const Process first = holder();
  const std::string label = label_of_holder();
  EXPECT_NE(label.find("@"), std::string::npos) << label;
  EXPECT_NE(label.find(" pid " + std::to_string(first.pid()) + ": sh -c echo up; exec sleep 600"),
            std::string::npos)
      << label;
}

TEST_F(WaitTest, TheUserOfALabelIsThatOfTheSystemWhateverTheEnvironmentSays) {
  Process first = start({"run", "x", "--", "sh", "-c", "echo up; exec sleep 600"},
                        {.environment = {{"USER", "mallory"}}});
  ASSERT_TRUE(eventually([&] { return first.out() == "up\n"; })) << first.err();
  EXPECT_EQ(label_of_holder().find("mallory"), std::string::npos) << label_of_holder();
}

TEST_F(WaitTest, SecretsOfTheCommandAreNotInTheLabel) {
  const std::vector<Words> commands = {
      {"sleep", "600", "--password=s3cr3t"},
      {"sleep", "600", "--db-token", "s3cr3t"},
      {"env", "PGPASSWORD=s3cr3t", "sleep", "600"},
      {"sh", "-c", "exec sleep 600 # curl -H 'Authorization: Bearer s3cr3t'"},
      {"sh", "-c", "exec sleep 600 # export API_KEY=\"x s3cr3t\""},
      {"sh", "-c", "exec sleep 600", "postgres://app:s3cr3t@db/app"},
      {"sh", "-c", "exec sleep 600", "https://u:s3cr3t@example.org/"},
  };
  for (const Words& command : commands) {
    Words words = {"run", "x", "--wait", "20s", "--"};
    words.insert(words.end(), {"sh", "-c", "echo up; exec sleep 600", "sh"});
    words.insert(words.end(), command.begin(), command.end());
    Process first = start(words);
    ASSERT_TRUE(eventually([&] { return first.out() == "up\n"; })) << first.err();
    EXPECT_EQ(label_of_holder().find("s3cr3t"), std::string::npos) << label_of_holder();
    EXPECT_NE(label_of_holder().find("***"), std::string::npos) << label_of_holder();
    first.kill(SIGTERM);
    first.wait();
  }
}

TEST_F(WaitTest, ARunThatWouldWaitForItselfIsRefused) {
  const std::string inner = std::string(HOLDFAST_BINARY) + " --on " + url() + " run x ";
  const Output refused = run({"run", "x", "-c", inner + "-- echo inside; echo status-$?"});
  EXPECT_EQ(refused.out, "status-64\n") << refused.err;
  EXPECT_NE(refused.err.find("--reenter"), std::string::npos) << refused.err;
  const Output entered = run({"run", "x", "-c",
                              inner + "--reenter -- sh -c 'echo $HOLDFAST_TOKEN'; "
                                      "echo $HOLDFAST_TOKEN"});
  EXPECT_EQ(entered.status, 0) << entered.err;
  const std::size_t end = entered.out.find('\n');
  EXPECT_EQ(entered.out.substr(0, end), entered.out.substr(end + 1, end)) << entered.out;
}

TEST_F(WaitTest, OnlyTheSameLockAboveIsRefused) {
  const std::string base = std::string(HOLDFAST_BINARY) + " --on ";
  EXPECT_EQ(run({"run", "x", "-c", base + url() + " run y -- echo inside"}).out, "inside\n");
  EXPECT_EQ(run({"run", "x", "-c", base + url() + "2 run x -- echo inside"}).out, "inside\n");
  EXPECT_EQ(
      run({"run", "x", "--permits", "2", "-c", base + url() + " run x --permits 2 -- echo inside"})
          .out,
      "inside\n");
  // Two levels down, behind another lock.
  EXPECT_EQ(
      run({"run", "x", "-c", base + url() + " run y -- " + base + url() + " run x -- true"}).status,
      64);
}

TEST_F(WaitTest, AProcessThatOutlivedItsRunMayTakeTheLock) {
  const std::string later = std::string(HOLDFAST_BINARY) + " --on " + url() + " run x -- touch " +
                            path("done") + " 2>" + path("err");
  EXPECT_EQ(run({"run", "x", "-c", "(sleep 0.5; " + later + ") >/dev/null 2>&1 &"}).status, 0);
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(path("done")); }))
      << read_all(path("err"));
}

TEST_F(WaitTest, OptionsOfFlockAreUnderstood) {
  Process first = holder();
  EXPECT_EQ(run({"run", "x", "-n", "-c", "true"}).status, 75);
  EXPECT_EQ(run({"run", "x", "-n", "-E", "9", "-c", "true"}).status, 9);
  EXPECT_EQ(run({"run", "x", "-w", "0.2", "-E", "0", "-c", "true"}).status, 0);
  EXPECT_EQ(run({"run", "x", "-x", "-w", "1", "-c", "true"}).status, 75);
  EXPECT_EQ(run({"run", "x", "--nonblock", "-E", "9", "-c", "true"}).status, 9);
  EXPECT_EQ(run({"run", "x", "--timeout", "0.2", "-c", "true"}).status, 75);
  EXPECT_EQ(run({"acquire", "x", "-n", "-E", "1"}).status, 1);
  first.kill(SIGTERM);
  first.wait();
  Process shared = holder({"-s"});
  EXPECT_EQ(run({"run", "x", "-s", "-n", "-c", "echo $HOLDFAST_MODE"}).out, "shared\n");
  EXPECT_EQ(run({"run", "x", "-n", "-c", "true"}).status, 75);
}

TEST_F(WaitTest, OptionsThatContradictEachOtherAreBadUsage) {
  EXPECT_EQ(run({"run", "x", "-s", "-x", "--", "true"}).status, 64);
  EXPECT_EQ(run({"run", "x", "-n", "-w", "1", "--", "true"}).status, 64);
  EXPECT_EQ(run({"run", "x", "--wait", "1s", "-w", "1", "--", "true"}).status, 64);
  EXPECT_EQ(run({"run", "x", "-c", "true", "--", "true"}).status, 64);
  EXPECT_EQ(run({"run", "x", "-w", "1.2.3", "--", "true"}).status, 64);
  EXPECT_EQ(run({"run", "x", "-w", "99999999", "--", "true"}).status, 64);
  EXPECT_EQ(run({"run", "x", "-E", "256", "--", "true"}).status, 64);
}

}  // namespace
}  // namespace holdfast::test
