// The command's tree dies as one: whatever two of runner, guard and keeper are killed, however deep
// and wide it is, and only it. The list of cases is in cli/run/guard.h.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "cli_fixture.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class TreeTest : public CliTest {
 protected:
  // `holdfast run x` with a tree below it, which holds a shared lock on the file `tree`.
  Process start_forest(const Words& options, const Words& forest) const {
    Words words = {"run", "x"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", HOLDFAST_FOREST, forest[0], forest[1], path("tree")});
    words.insert(words.end(), forest.begin() + 2, forest.end());
    Process runner = start(words);
    EXPECT_TRUE(eventually([&] { return runner.out() == "ready\n"; }, 60s)) << runner.err();
    return runner;
  }
  // The next holder: says "overlap" if any process of the tree is there.
  Process start_next() const {
    Process next = start({"run", "x", "--", "sh", "-c",
                          "flock -n " + path("tree") + " true || echo overlap; echo in"});
    EXPECT_TRUE(eventually([&] { return json({"show", "x"})["waiters"].size() == 1; }));
    return next;
  }
  bool tree_is_gone() const {
    const int file = open(path("tree").c_str(), O_RDWR | O_CLOEXEC);
    const bool gone = flock(file, LOCK_EX | LOCK_NB) == 0;
    close(file);
    return gone;
  }
  void expect_gone() const {
    EXPECT_TRUE(eventually([&] { return tree_is_gone(); }));
  }
};

// The means of this machine to make a pid namespace, as words before a command.
std::optional<Words> unshare_words(const Words& options) {
  for (const char* user : {"", "-Ur"}) {
    Words words = {"unshare"};
    if (*user != '\0') words.emplace_back(user);
    words.insert(words.end(), options.begin(), options.end());
    Words probe = words;
    probe.emplace_back("true");
    if (Process(probe).wait().status == 0) {
      std::printf("namespaces: %s\n", *user != '\0' ? "by a user namespace" : "as root");
      return words;
    }
  }
  return std::nullopt;
}

// ---- Kills -------------------------------------------------------------------------------------

TEST_F(TreeTest, AnyTwoOfThreeKilledTogetherLetNobodyInBesideTheTree) {
  for (int round = 0; round < 30; ++round) {
    // Half of the trees have closed the engine's descriptor, which would keep the others out.
    Words forest = {round % 4 < 2 ? "chain" : "sessions", "20"};
    if (round % 2 == 0) forest.emplace_back("closed");
    Process runner = start_forest({"--ttl", "2s"}, forest);
    const pid_t guard = guard_of(runner.pid());
    const pid_t keeper = keeper_of(runner.pid());
    ASSERT_GT(guard, 0);
    ASSERT_TRUE(round % 3 == 0 || keeper > 0) << "there is no keeper";
    Process next = start_next();
    if (round % 3 != 1) kill(guard, SIGKILL);
    if (round % 3 != 0) kill(keeper, SIGKILL);
    if (round % 3 != 2) runner.kill(SIGKILL);
    EXPECT_EQ(next.wait().out, "in\n") << "round " << round;
    expect_gone();
    if (round % 3 == 2) {
      EXPECT_EQ(runner.wait().status, 76);
    }
    if (HasFailure()) {  // The descendants of an old build live on.
      kill(-runner.pid(), SIGKILL);
      break;
    }
  }
}

TEST_F(TreeTest, NoPatternThatFitsRunnerOrCommandFitsTheKeeper) {
  Process runner = start_forest({}, {"flat", "1"});
  const pid_t keeper = keeper_of(runner.pid());
  ASSERT_GT(keeper, 0);
  std::string line = read_all("/proc/" + std::to_string(keeper) + "/cmdline");
  for (const char* word : {"holdfast", "run", "forest", "x"}) {
    EXPECT_EQ(name_of(keeper).find(word), std::string::npos) << word;
    EXPECT_EQ(line.find(word), std::string::npos) << word << " in " << line;
  }
  EXPECT_NE(getsid(keeper), getsid(runner.pid()));
  EXPECT_NE(getpgid(keeper), getpgid(guard_of(runner.pid())));
}

TEST_F(TreeTest, KillingTheKeeperAloneEndsTheTreeAndReturns76) {
  Process runner = start_forest({}, {"chain", "20"});
  Process next = start_next();
  const pid_t keeper = keeper_of(runner.pid());
  ASSERT_GT(keeper, 0);
  kill(keeper, SIGKILL);
  EXPECT_EQ(runner.wait().status, 76);
  EXPECT_EQ(next.wait().out, "in\n");
  EXPECT_TRUE(tree_is_gone());
}

TEST_F(TreeTest, AStoppedKeeperDoesNotDelayTheEnd) {
  Process runner = start_forest({"--ttl", "3s"}, {"chain", "20"});
  const pid_t keeper = keeper_of(runner.pid());
  ASSERT_GT(keeper, 0);
  kill(keeper, SIGSTOP);
  kill(guard_of(runner.pid()), SIGKILL);
  EXPECT_EQ(runner.wait().status, 76);
  EXPECT_TRUE(tree_is_gone());
  EXPECT_FALSE(is_alive(keeper));
}

// ---- Shapes ------------------------------------------------------------------------------------

TEST_F(TreeTest, ManyNestedSessionsEndBeforeTheNextHolderEnters) {
  Process runner = start_forest({"--ttl", "10s"}, {"chain", "600"});
  Process next = start_next();
  runner.kill(SIGSTOP);  // The guard ends it all between its deadline and the end of validity.
  EXPECT_EQ(next.wait().out, "in\n");
  EXPECT_TRUE(tree_is_gone());
  runner.kill(SIGCONT);
  EXPECT_EQ(runner.wait().status, 76);
}

TEST_F(TreeTest, AForkChainInSessionsOfItsOwnIsCaught) {
  // Each process starts the next one in a new session and ends at once.
  Process runner = start({"run", "x", "--", "perl", "-e",
                          "use POSIX; $SIG{TERM} = 'IGNORE'; open(F, '>', '" + path("tree") +
                              "'); flock(F, 1); $| = 1; print \"ready\\n\"; "
                              "if (fork) { sleep 300 } for (;;) { exit if fork; setsid; }"});
  ASSERT_TRUE(eventually([&] { return runner.out() == "ready\n"; })) << runner.err();
  runner.kill(SIGKILL);
  expect_gone();
}

TEST_F(TreeTest, SigtermReachesEveryDescendantOnceWhenTheLockIsLost) {
  for (const char* shape : {"flat", "sessions", "chain"}) {
    std::filesystem::remove(path("note"));
    Process runner = start_forest({"--ttl", "3s"}, {shape, "50", "note", path("note")});
    const auto token = json({"show", "x"})["holders"][0]["token"].dump();
    ASSERT_EQ(run({"break", "x", "--token", token}).status, 0);
    EXPECT_EQ(runner.wait().status, 76);
    EXPECT_EQ(read_all(path("note")), std::string(51, 'T')) << shape;
  }
}

// How long the kernel takes at least to end so many processes: in one group, by one signal.
Clock::duration time_of_bare_kill(const std::string& file, const std::string& count) {
  Process forest({HOLDFAST_FOREST, "flat", count, file}, {.own_group = true});
  EXPECT_TRUE(eventually([&] { return forest.out() == "ready\n"; }, 60s)) << forest.err();
  const int lock = open(file.c_str(), O_RDWR | O_CLOEXEC);
  const auto begin = Clock::now();
  kill(-forest.pid(), SIGKILL);
  flock(lock, LOCK_EX);
  const auto took = Clock::now() - begin;
  close(lock);
  return took;
}

TEST_F(TreeTest, TenThousandProcessesEndWithinHalfASecond) {
  const auto ms = [](Clock::duration span) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
  };
  const auto bare = time_of_bare_kill(path("bare"), "10000");
  for (const char* shape : {"flat", "sessions"}) {
    Process runner = start_forest({}, {shape, "10000"});
    const int lock = open(path("tree").c_str(), O_RDWR | O_CLOEXEC);
    const auto begin = Clock::now();
    runner.kill(SIGKILL);
    flock(lock, LOCK_EX);  // Granted when the last of them has gone.
    const auto took = Clock::now() - begin;
    close(lock);
    std::printf("%s: 10000 processes ended in %ld ms; the kernel alone needs %ld ms\n", shape,
                static_cast<long>(ms(took)), static_cast<long>(ms(bare)));
    // On a machine that is busy with other things the kernel alone may need longer than that.
    EXPECT_LT(took, std::max<Clock::duration>(500ms, 6 * bare));
  }
}

// ---- Only its own ------------------------------------------------------------------------------

TEST_F(TreeTest, AProcOfAnotherNamespaceIsRefused) {
  const std::optional<Words> unshare = unshare_words({"-pf"});
  if (!unshare) GTEST_SKIP() << "no pid namespaces here";
  Words words = *unshare;
  words.insert(words.end(),
               {HOLDFAST_BINARY, "--on", url(), "run", "x", "--", "touch", path("ran")});
  const Output output = start_plain(words).wait();
  EXPECT_EQ(output.status, 78) << output.err;
  EXPECT_NE(output.err.find("mount -t proc"), std::string::npos) << output.err;
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

TEST_F(TreeTest, AnEmptyProcIsRefused) {
  const std::optional<Words> unshare = unshare_words({"-m"});
  if (!unshare) GTEST_SKIP() << "no mount namespaces here";
  Words words = *unshare;
  words.insert(words.end(), {"sh", "-c",
                             "mount -t tmpfs none /proc && exec " HOLDFAST_BINARY " --on " + url() +
                                 " run x -- touch " + path("ran")});
  const Output output = start_plain(words).wait();
  EXPECT_EQ(output.status, 78) << output.err;
  EXPECT_NE(output.err.find("mount -t proc"), std::string::npos) << output.err;
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

TEST_F(TreeTest, WithItsOwnProcAPidNamespaceIsAsGoodAsAnyOther) {
  const std::optional<Words> unshare = unshare_words({"-pf", "--mount-proc"});
  if (!unshare) GTEST_SKIP() << "no pid namespaces here";
  Words words = *unshare;
  // The end of the shell would end the namespace, and hide what the guard does.
  words.insert(words.end(),
               {"sh", "-c",
                HOLDFAST_BINARY " --on " + url() + " run x -- " HOLDFAST_FOREST " chain 20 " +
                    path("tree") + " & echo $!; sleep 300"});
  Process shell = start_plain(words);
  ASSERT_TRUE(eventually([&] { return shell.out().find("ready") != std::string::npos; }));
  pid_t runner = 0;
  for (const pid_t unshared : children_of(shell.pid())) {
    for (const pid_t child : children_of(unshared)) {
      if (name_of(child) == "holdfast") runner = child;
    }
  }
  ASSERT_GT(runner, 0);
  kill(runner, SIGKILL);
  expect_gone();
  EXPECT_TRUE(shell.running());
  for (const pid_t unshared : children_of(shell.pid())) kill(unshared, SIGKILL);
}

// ---- --isolate ---------------------------------------------------------------------------------

class IsolateTest : public TreeTest {
 protected:
  void SetUp() override {
    const Output output = run({"run", "probe", "--isolate", "--", "true"});
    if (output.status == 78) GTEST_SKIP() << "not possible here: " << output.err;
    ASSERT_EQ(output.status, 0) << output.err;
    std::printf("--isolate: %s\n", geteuid() == 0 ? "as root" : "by a user namespace");
  }
};

TEST_F(IsolateTest, TheCommandSeesOnlyItsOwnProcesses) {
  const Output output =
      run({"run", "x", "--isolate", "--", "sh", "-c", "echo $$; echo /proc/[0-9]*; exit 7"});
  EXPECT_EQ(output.status, 7) << output.err;
  EXPECT_EQ(output.out, "2\n/proc/1 /proc/2\n");
}

TEST_F(IsolateTest, AllThreeKilledTogetherStillEndTheTree) {
  for (int round = 0; round < 10; ++round) {
    Process runner =
        start_forest({"--ttl", "2s", "--isolate"}, {round % 2 == 0 ? "chain" : "sessions", "20"});
    const pid_t keeper = keeper_of(runner.pid());
    const pid_t guard = guard_of(runner.pid());
    Process next = start_next();
    runner.kill(SIGKILL);
    kill(keeper, SIGKILL);
    kill(guard, SIGKILL);
    EXPECT_EQ(next.wait().out, "in\n");
    expect_gone();
  }
}

TEST_F(IsolateTest, GuardAndKeeperKilledLetNobodyInBeforeTheTreeIsGone) {
  for (int round = 0; round < 10; ++round) {
    Process runner = start_forest({"--isolate"}, {"chain", "20", "closed"});
    const pid_t keeper = keeper_of(runner.pid());
    const pid_t guard = guard_of(runner.pid());
    Process next = start_next();
    kill(guard, SIGKILL);
    kill(keeper, SIGKILL);
    EXPECT_EQ(next.wait().out, "in\n");
    EXPECT_EQ(runner.wait().status, 76);
  }
}

TEST_F(IsolateTest, BackgroundProcessesEndWithTheCommand) {
  const Output output = run({"run", "x", "--isolate", "--", "sh", "-c",
                             HOLDFAST_FOREST " chain 5 " + path("tree") + " & sleep 0.2; exit 3"});
  EXPECT_EQ(output.status, 3);
  EXPECT_TRUE(tree_is_gone());
}

TEST_F(IsolateTest, SigtermReachesEveryDescendantOnce) {
  Process runner =
      start_forest({"--ttl", "3s", "--isolate"}, {"chain", "50", "note", path("note")});
  const auto token = json({"show", "x"})["holders"][0]["token"].dump();
  ASSERT_EQ(run({"break", "x", "--token", token}).status, 0);
  EXPECT_EQ(runner.wait().status, 76);
  EXPECT_EQ(read_all(path("note")), std::string(51, 'T'));
}

TEST_F(IsolateTest, NeedsNoProc) {
  const std::optional<Words> unshare = unshare_words({"-pf"});
  if (!unshare) GTEST_SKIP() << "no pid namespaces here";
  Words words = *unshare;
  words.insert(words.end(), {HOLDFAST_BINARY, "--on", url(), "run", "x", "--isolate", "--", "sh",
                             "-c", "echo $$"});
  const Output output = start_plain(words).wait();
  EXPECT_EQ(output.out, "2\n") << output.err;
}

TEST_F(IsolateTest, AUserWithoutRightsGetsAUserNamespace) {
  if (geteuid() != 0) GTEST_SKIP() << "the other tests did that";
  if (Process({"unshare", "-Urpf", "--mount-proc", "true"}, {.as_nobody = true}).wait().status !=
      0) {
    GTEST_SKIP() << "no user namespaces for everybody here";
  }
  // Without the sticky bit everybody could replace the database.
  std::filesystem::permissions(directory_,
                               std::filesystem::perms::all | std::filesystem::perms::sticky_bit);
  const Output output = run_bare({"--on", "sqlite://" + path("nobody.db"), "run", "x", "--isolate",
                                  "--", "sh", "-c", "id -u; echo $$"},
                                 {.as_nobody = true});
  EXPECT_EQ(output.out, "65534\n2\n") << output.err;
}

}  // namespace
}  // namespace holdfast::test
