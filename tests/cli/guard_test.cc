// The ways in which `run` could leave its command unprotected: the list in cli/run/guard.h.
#include <signal.h>

#include <fstream>

#include "cli_fixture.h"

namespace holdfast::test {
namespace {

class GuardTest : public CliTest {
 protected:
  // A command with a child, a grandchild and a grandchild in a session of its own. Each writes its
  // number to `pids`; none of them minds SIGTERM or SIGHUP.
  Process start_family(const Words& options = {}, ProcessOptions process = {}) {
    const std::string script =
        "trap '' TERM HUP\n"
        "note() { echo $1 >> " +
        path("pids") +
        "; }\n"
        "note $$\n"
        "sh -c 'echo $$ >> " +
        path("pids") + "; sleep 300 & echo $! >> " + path("pids") +
        "; wait' &\n"
        "setsid sh -c 'echo $$ >> " +
        path("pids") + "; sleep 300 & echo $! >> " + path("pids") +
        "; wait' &\n"
        "wait\n";
    Words words = {"run", "x", "--ttl", "60s"};
    if (!options.empty()) words = options;
    for (const char* word : {"--", "sh", "-c"}) words.push_back(word);
    words.push_back(script);
    Process runner = start(words, std::move(process));
    EXPECT_TRUE(has_lines("pids", 5)) << runner.err();
    return runner;
  }

  // A waiter whose command notes who of the family it finds alive.
  Process start_waiter(const Words& options = {"run", "x"}) {
    Words words = options;
    for (const char* word : {"--", "sh", "-c"}) words.push_back(word);
    words.push_back("for pid in $(cat " + path("pids") +
                    "); do "
                    "if kill -0 $pid 2>/dev/null; then echo $pid >> " +
                    path("overlap") +
                    "; fi; "
                    "done; echo in");
    Process waiter = start(words);
    EXPECT_TRUE(eventually([&] { return json({"show", "x"})["waiters"].size() == 1; }));
    return waiter;
  }

  void expect_family_gone() {
    for (const pid_t pid : pids_in("pids")) {
      EXPECT_TRUE(eventually([&] { return !is_alive(pid); })) << pid << " " << name_of(pid);
    }
  }
  void expect_no_overlap() { EXPECT_EQ(read_all(path("overlap")), ""); }
};

TEST_F(GuardTest, KillingTheRunnerEndsTheWholeFamilyAndThenLetsTheWaiterIn) {
  Process runner = start_family();
  Process waiter = start_waiter();
  runner.kill(SIGKILL);
  const Output output = waiter.wait();  // Long before the ttl of a minute.
  EXPECT_EQ(output.out, "in\n") << output.err;
  expect_no_overlap();
  expect_family_gone();
}

TEST_F(GuardTest, KillingTheWholeJobEndsTheFamilyToo) {
  Process runner = start_family({}, {.own_group = true});
  Process waiter = start_waiter();
  kill(-runner.pid(), SIGKILL);
  EXPECT_EQ(waiter.wait().out, "in\n");
  expect_no_overlap();
  expect_family_gone();
}

TEST_F(GuardTest, AStoppedRunnerLosesTheLockInTimeAndReturns76WhenContinued) {
  Process runner = start_family({"run", "x", "--ttl", "2s"});
  Process waiter = start_waiter();
  runner.kill(SIGSTOP);
  const Output output = waiter.wait();
  EXPECT_EQ(output.out, "in\n") << output.err;
  expect_no_overlap();
  expect_family_gone();
  runner.kill(SIGCONT);
  const Output lost = runner.wait();
  EXPECT_EQ(lost.status, 76);
  EXPECT_NE(lost.err.find("lost the lock 'x'"), std::string::npos) << lost.err;
}

TEST_F(GuardTest, ACommandThatEndsInTimeHasSucceededEvenIfItsRunnerWasStopped) {
  Process runner = start({"run", "x", "--ttl", "2s", "--", "sh", "-c",
                          "echo; while [ ! -e " + path("go") + " ]; do sleep 0.01; done; exit 3"});
  ASSERT_TRUE(eventually([&] { return !runner.out().empty(); }));
  const pid_t guard = guard_of(runner.pid());
  runner.kill(SIGSTOP);
  std::ofstream(path("go")) << "\n";
  ASSERT_TRUE(eventually([&] { return !is_alive(guard); }));
  // Somebody else has it meanwhile.
  EXPECT_EQ(run({"run", "x", "--", "true"}).status, 0);
  runner.kill(SIGCONT);
  EXPECT_EQ(runner.wait().status, 3);
}

TEST_F(GuardTest, SigtermComesFirstSoThatTheCommandCanCleanUp) {
  Process runner =
      start({"run", "x", "--ttl", "2s", "--", "sh", "-c",
             "trap 'echo cleaned; exit' TERM; echo ready; while :; do sleep 0.01; done"});
  ASSERT_TRUE(eventually([&] { return !runner.out().empty(); }));
  runner.kill(SIGSTOP);
  EXPECT_TRUE(eventually([&] { return runner.out() == "ready\ncleaned\n"; })) << runner.out();
  runner.kill(SIGCONT);
  EXPECT_EQ(runner.wait().status, 76);
}

TEST_F(GuardTest, KillingTheGuardEndsTheFamilyAndReturns76) {
  Process runner = start_family();
  Process waiter = start_waiter();
  kill(guard_of(runner.pid()), SIGKILL);
  const Output output = runner.wait();
  EXPECT_EQ(output.status, 76);
  EXPECT_NE(output.err.find("guard"), std::string::npos) << output.err;
  EXPECT_EQ(waiter.wait().out, "in\n");
  expect_no_overlap();
  expect_family_gone();
}

TEST_F(GuardTest, JobsOfTheShellThatBecameTheRunnerAreSpared) {
  Process runner =
      start_plain({"sh", "-c",
                   "sleep 300 & echo $! > " + path("stranger") + "; exec " + HOLDFAST_BINARY +
                       " --on " + url() + " run x -- sh -c 'echo; sleep 300'"});
  ASSERT_TRUE(eventually([&] { return !runner.out().empty(); })) << runner.err();
  kill(guard_of(runner.pid()), SIGKILL);
  EXPECT_EQ(runner.wait().status, 76);
  const pid_t stranger = pids_in("stranger").at(0);
  EXPECT_TRUE(is_alive(stranger));
  kill(stranger, SIGKILL);
}

TEST_F(GuardTest, AStoppedGuardIsReplacedByTheRunnerWhenTheLockIsLost) {
  Process runner = start_family({"run", "x", "--ttl", "3s"});
  const pid_t guard = guard_of(runner.pid());
  kill(guard, SIGSTOP);
  const auto token = json({"show", "x"})["holders"][0]["token"].dump();
  ASSERT_EQ(run({"break", "x", "--token", token}).status, 0);
  EXPECT_EQ(runner.wait().status, 76);
  EXPECT_FALSE(is_alive(guard));
  expect_family_gone();
}

TEST_F(GuardTest, RunnerAndGuardKilledTogetherStillEndTheCommandItself) {
  Process runner = start_family({"run", "x", "--ttl", "2s"});
  const std::vector<pid_t> family = pids_in("pids");
  Process waiter = start_waiter();
  const pid_t guard = guard_of(runner.pid());
  runner.kill(SIGSTOP);  // So that it cannot see the guard die.
  kill(guard, SIGKILL);
  runner.kill(SIGKILL);
  EXPECT_TRUE(eventually([&] { return !is_alive(family[0]); }));
  // Its orphans keep the liveness descriptor; nobody gets in before they end or the ttl is over.
  EXPECT_EQ(waiter.wait().out, "in\n");
  for (const pid_t pid : family) kill(pid, SIGKILL);
}

TEST_F(GuardTest, AGuardKilledBeforeTheLockIsGrantedPreventsTheStart) {
  Process holder = start({"run", "x", "--", "sh", "-c", "echo; sleep 300"});
  ASSERT_TRUE(eventually([&] { return !holder.out().empty(); }));
  Process waiter = start({"run", "x", "--", "touch", path("started")});
  ASSERT_TRUE(eventually([&] { return json({"show", "x"})["waiters"].size() == 1; }));
  kill(guard_of(waiter.pid()), SIGKILL);
  holder.kill(SIGTERM);
  holder.wait();
  EXPECT_EQ(waiter.wait().status, 76);
  EXPECT_FALSE(std::filesystem::exists(path("started")));
  EXPECT_EQ(run({"run", "x", "--no-wait", "--", "true"}).status, 0) << "the lock was left behind";
}

TEST_F(GuardTest, AStoppedCommandKeepsItsLockAndItsLossEndsIt) {
  Process runner = start({"run", "x", "--ttl", "1s", "--", "sh", "-c", "echo $$; sleep 300"});
  ASSERT_TRUE(eventually([&] { return !runner.out().empty(); }));
  const pid_t command = std::stoi(runner.out());
  kill(command, SIGSTOP);
  EXPECT_EQ(run({"run", "x", "--wait", "1500ms", "--", "true"}).status, 75) << "it is renewed";
  const auto token = json({"show", "x"})["holders"][0]["token"].dump();
  ASSERT_EQ(run({"break", "x", "--token", token}).status, 0);
  EXPECT_EQ(runner.wait().status, 76);
  EXPECT_FALSE(is_alive(command));
}

TEST_F(GuardTest, RepeatedKillsNeverLetTwoCommandsOverlap) {
  // Each command makes a directory that must not exist yet, and removes it in the end; killed ones
  // leave it behind, and the next one finds the killed command's number in it.
  const std::string script = "if [ -e " + path("inside") + " ]; then old=$(cat " + path("inside") +
                             "); "
                             "if kill -0 $old 2>/dev/null; then echo overlap >> " +
                             path("overlap") +
                             "; fi; fi; "
                             "echo $$ > " +
                             path("inside") + "; sleep 0.05; rm -f " + path("inside");
  for (int round = 0; round < 20; ++round) {
    Process first = start({"run", "x", "--", "sh", "-c", script});
    Process second = start({"run", "x", "--", "sh", "-c", script});
    usleep(static_cast<useconds_t>(round) * 4000);
    first.kill(SIGKILL);
    EXPECT_EQ(second.wait().status, 0) << second.err();
  }
  expect_no_overlap();
}

}  // namespace
}  // namespace holdfast::test
