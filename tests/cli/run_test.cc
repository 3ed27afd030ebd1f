// holdfast run: what it gives to the command, what it returns, and who gets in when.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "cli_fixture.h"
#include "redis_server.h"

namespace holdfast::test {
namespace {

using RunTest = CliTest;

TEST_F(RunTest, TheTokenGrowsBetweenTwoRuns) {
  const Words command = {"run", "demo", "--", "sh", "-c", "echo $HOLDFAST_TOKEN"};
  const Output first = run(command);
  const Output second = run(command);
  ASSERT_EQ(first.status, 0) << first.err;
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_LT(std::stoull(first.out), std::stoull(second.out));
}

TEST_F(RunTest, LocksInMemoryAreRefusedBecauseTheyWouldExcludeNobody) {
  for (const char* url : {"memory:", "memory:shared", "Memory:x"}) {
    for (const Words& words :
         {Words{"run", "x", "--", "true"}, Words{"acquire", "x"}, Words{"ls"}}) {
      Words all = {"--on", url};
      all.insert(all.end(), words.begin(), words.end());
      const Output output = run_bare(all);
      EXPECT_EQ(output.status, 64) << url << " " << words.front();
      EXPECT_NE(output.err.find("would exclude nobody"), std::string::npos) << output.err;
    }
  }
}

TEST_F(RunTest, TheCommandFindsNameAndValidityInItsEnvironment) {
  const Output output = run({"run", "a b", "--ttl", "20s", "--", "sh", "-c",
                             "echo \"$HOLDFAST_NAME|$HOLDFAST_URL|\"; "
                             "echo $((HOLDFAST_VALID_UNTIL_MS - $(date +%s%3N)))"});
  EXPECT_EQ(output.out.substr(0, 6), "a b||\n");
  const long left_ms = std::stol(output.out.substr(6));
  EXPECT_GT(left_ms, 0);
  EXPECT_LE(left_ms, 20'000);
}

TEST_F(RunTest, TheCommandFindsTheModeInItsEnvironment) {
  const Words command = {"--", "sh", "-c", "echo $HOLDFAST_MODE"};
  const auto mode_with = [&](Words words) {
    words.insert(words.begin(), {"run", "x"});
    words.insert(words.end(), command.begin(), command.end());
    return run(words).out;
  };
  EXPECT_EQ(mode_with({}), "exclusive\n");
  EXPECT_EQ(mode_with({"--shared"}), "shared\n");
  EXPECT_EQ(mode_with({"--permits", "3"}), "permit\n");
}

TEST_F(RunTest, TheUrlIsPassedOnOnlyIfItCameInTheEnvironment) {
  const Output output = run_bare({"run", "x", "--", "sh", "-c", "echo $HOLDFAST_URL"},
                                 {.environment = {{"HOLDFAST_URL", url()}}});
  EXPECT_EQ(output.out, url() + "\n") << output.err;
}

TEST_F(RunTest, WordsOfTheCommandArriveUnchanged) {
  const Output output =
      run({"run", "x", "--", "printf", "%s|", "{}", "--", "", "a b", "--json", "[1,2]", "%%"});
  EXPECT_EQ(output.out, "{}|--||a b|--json|[1,2]|%%|") << output.err;
}

TEST_F(RunTest, ReturnsTheCommandsOwnStatus) {
  EXPECT_EQ(run({"run", "x", "--", "true"}).status, 0);
  EXPECT_EQ(run({"run", "x", "--", "sh", "-c", "exit 7"}).status, 7);
  EXPECT_EQ(run({"run", "x", "--", "sh", "-c", "kill -TERM $$"}).status, 128 + SIGTERM);
}

TEST_F(RunTest, ReturnsAsAShellDoesWhenTheCommandCannotBeRun) {
  const Output missing = run({"run", "x", "--", "no-such-command"});
  EXPECT_EQ(missing.status, 127);
  EXPECT_NE(missing.err.find("no-such-command"), std::string::npos);
  EXPECT_EQ(run({"run", "x", "--", "/etc/passwd"}).status, 126);
  EXPECT_EQ(run({"run", "x", "--no-wait", "--", "true"}).status, 0) << "the lock was left behind";
}

TEST_F(RunTest, Returns75WhenTheLockIsNotFreeInTime) {
  Process holder = start({"run", "x", "--", "sh", "-c", "echo; sleep 60"});
  ASSERT_TRUE(eventually([&] { return !holder.out().empty(); }));
  const Output at_once = run({"run", "x", "--no-wait", "--", "true"});
  EXPECT_EQ(at_once.status, 75);
  EXPECT_NE(at_once.err.find("held by"), std::string::npos) << at_once.err;
  EXPECT_EQ(run({"run", "x", "--wait", "100ms", "--", "true"}).status, 75);
  holder.kill(SIGTERM);
  EXPECT_EQ(holder.wait().status, 128 + SIGTERM);
}

TEST_F(RunTest, TwoRunsHandOverWithoutOverlap) {
  const std::string script =
      "echo begin >> " + path("log") + "; sleep 0.2; echo end >> " + path("log");
  Process first = start({"run", "x", "--", "sh", "-c", script});
  Process second = start({"run", "x", "--", "sh", "-c", script});
  EXPECT_EQ(first.wait().status, 0);
  EXPECT_EQ(second.wait().status, 0);
  EXPECT_EQ(read_all(path("log")), "begin\nend\nbegin\nend\n");
}

TEST_F(RunTest, SharedRunsGoTogetherAndPermitsAreCounted) {
  for (const Words& mode : {Words{"--shared"}, Words{"--permits", "2"}}) {
    Words words = {"run", "x" + mode[0], "--wait", "20s"};
    words.insert(words.end(), mode.begin(), mode.end());
    Words no_wait = words;
    no_wait[2] = "--no-wait";
    no_wait.erase(no_wait.begin() + 3);
    for (const char* word : {"--", "sh", "-c", "echo; sleep 60"}) words.push_back(word);
    for (const char* word : {"--", "true"}) no_wait.push_back(word);
    Process first = start(words);
    Process second = start(words);
    ASSERT_TRUE(eventually([&] { return !first.out().empty() && !second.out().empty(); }))
        << first.err() << second.err();
    EXPECT_EQ(run(no_wait).status, mode[0] == "--shared" ? 0 : 75);
    first.kill(SIGTERM);
    second.kill(SIGTERM);
    first.wait();
    second.wait();
  }
}

TEST_F(RunTest, SignalsReachTheCommand) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH}) {
    Process runner = start({"run", "x", "--", "sh", "-c",
                            "trap 'exit 42' " + std::to_string(signal) +
                                "; echo ready; while :; do sleep 0.01; done"});
    ASSERT_TRUE(eventually([&] { return !runner.out().empty(); })) << runner.err();
    runner.kill(signal);
    EXPECT_EQ(runner.wait().status, 42) << "signal " << signal;
  }
}

TEST_F(RunTest, CtrlCWhileWaitingReturns130AndLeavesNothingInTheQueue) {
  Process holder = start({"run", "x", "--", "sh", "-c", "echo; sleep 60"});
  ASSERT_TRUE(eventually([&] { return !holder.out().empty(); }));
  const auto waiters = [&] { return json({"show", "x"})["waiters"].size(); };
  for (const int signal : {SIGINT, SIGTERM}) {
    Process waiter = start({"run", "x", "--", "true"});
    ASSERT_TRUE(eventually([&] { return waiters() == 1; }));
    const pid_t guard = guard_of(waiter.pid());
    waiter.kill(signal);
    EXPECT_EQ(waiter.wait().status, 128 + signal);
    EXPECT_EQ(waiters(), 0U);
    EXPECT_FALSE(is_alive(guard));
  }
  holder.kill(SIGTERM);
  holder.wait();
}

TEST_F(RunTest, NohupReachesTheCommandThroughUs) {
  Process runner = start({"run", "x", "--", "sh", "-c", "echo; kill -HUP $$; sleep 0.1; exit 5"},
                         {.ignore_hangup = true});
  ASSERT_TRUE(eventually([&] { return !runner.out().empty(); }));
  runner.kill(SIGHUP);
  EXPECT_EQ(runner.wait().status, 5);
}

TEST_F(RunTest, WhatTheCommandLeavesInTheBackgroundLivesOn) {
  const Output output = run({"run", "x", "--", "sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!"});
  ASSERT_EQ(output.status, 0) << output.err;
  const pid_t left_behind = std::stoi(output.out);
  EXPECT_TRUE(is_alive(left_behind));
  EXPECT_EQ(run({"run", "x", "--no-wait", "--", "true"}).status, 0) << "it is no longer held";
  kill(left_behind, SIGKILL);
}

TEST_F(RunTest, ABrokenLockEndsTheCommandWith76) {
  Process runner =
      start({"run", "x", "--ttl", "1s", "--", "sh", "-c", "echo $HOLDFAST_TOKEN; sleep 60"});
  ASSERT_TRUE(eventually([&] { return !runner.out().empty(); }));
  std::string token = runner.out();
  token.pop_back();
  EXPECT_EQ(run({"break", "x", "--token", token + "1"}).status, 76) << "never blind";
  EXPECT_TRUE(runner.running());
  EXPECT_EQ(run({"break", "x", "--token", token}).status, 0);
  const Output output = runner.wait();
  EXPECT_EQ(output.status, 76);
  EXPECT_NE(output.err.find("lost the lock 'x'"), std::string::npos) << output.err;
  EXPECT_EQ(std::count(output.err.begin(), output.err.end(), '\n'), 1) << output.err;
}

TEST_F(RunTest, ABrokenLockIsNoticedEvenIfTheCommandEndsBeforeTheNextRenewal) {
  Process runner =
      start({"run", "x", "--ttl", "30s", "--", "sh", "-c",
             "echo $HOLDFAST_TOKEN; while [ ! -e " + path("go") + " ]; do sleep 0.01; done"});
  ASSERT_TRUE(eventually([&] { return !runner.out().empty(); }));
  std::string token = runner.out();
  token.pop_back();
  ASSERT_EQ(run({"break", "x", "--token", token}).status, 0);
  std::ofstream(path("go")) << "\n";
  EXPECT_EQ(runner.wait().status, 76);
}

TEST_F(RunTest, ALongCommandKeepsAShortLock) {
  const Output output = run({"run", "x", "--ttl", "1s", "--", "sleep", "3"});
  EXPECT_EQ(output.status, 0) << output.err;
}

// Accepts connections and never answers.
class SilentServer {
 public:
  SilentServer() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~SilentServer() { close(listener_); }
  int port() const { return port_; }
  // True once somebody has sent something.
  bool was_asked() const {
    pollfd ready{listener_, POLLIN, 0};
    if (poll(&ready, 1, 30'000) != 1) return false;
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    ready = {connection, POLLIN, 0};
    return poll(&ready, 1, 30'000) == 1;  // It stays open, and unread, until the test ends.
  }

 private:
  int listener_;
  int port_;
};

TEST_F(RunTest, SignalsAreHeardAtOnceWhileTheEngineDoesNotAnswer) {
  const SilentServer server;
  const std::string silent = "redis://127.0.0.1:" + std::to_string(server.port());
  for (const char* command : {"run", "acquire"}) {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
      Words words = {HOLDFAST_BINARY, "--on", silent, "--json", command, "x"};
      if (words[4] == "run") words.insert(words.end(), {"--", "true"});
      Process waiter = start_plain(words);
      ASSERT_TRUE(server.was_asked());
      waiter.kill(signal);
      const Output output = waiter.wait();
      EXPECT_EQ(output.status, 128 + signal) << command << output.err;
      EXPECT_NE(output.out.find("interrupted by signal " + std::to_string(signal)),
                std::string::npos)
          << output.out;
      EXPECT_TRUE(nlohmann::json::accept(output.out)) << output.out;
    }
  }
}

TEST_F(RunTest, AServerThatIsDownIsWaitedForAsLongAsToldAndNotLonger) {
  RedisServer server;
  server.kill();
  const auto run_on_it = [&](Words wait) {
    Words words = {HOLDFAST_BINARY, "--on", server.url(), "run", "x"};
    words.insert(words.end(), wait.begin(), wait.end());
    words.insert(words.end(), {"--", "true"});
    return start_plain(words);
  };
  EXPECT_EQ(run_on_it({"--no-wait"}).wait().status, 69);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(run_on_it({"--wait", "1s"}).wait().status, 69);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
  Process limited = run_on_it({"--wait", "1m"});
  Process patient = run_on_it({});
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  server.restart();
  for (Process* each : {&limited, &patient}) {
    const Output output = each->wait();
    EXPECT_EQ(output.status, 0) << output.err;
    EXPECT_NE(output.err.find("trying again"), std::string::npos) << output.err;
  }
}

TEST_F(RunTest, StandardDescriptorsAreAlwaysOpen) {
  const std::string look = "exec 9>" + path("seen") +
                           "; for i in 0 1 2; do x=$(readlink /proc/$$/fd/$i); echo $x >&9; done; "
                           "echo lost; echo lost >&2; exit 3";
  const Output output = start_plain({"sh", "-c",
                                     "exec 0<&- 1>&- 2>&-; exec " HOLDFAST_BINARY " --on " + url() +
                                         " run x -- sh -c '" + look + "'"})
                            .wait();
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(read_all(path("seen")), "/dev/null\n/dev/null\n/dev/null\n");
}

TEST_F(RunTest, LimitsAreNamedForWhatTheyAre) {
  // The messages go through a pipe: a file would be limited as well.
  const auto limited = [&](const std::string& limit) {
    return start_plain({"sh", "-c",
                        "{ (ulimit " + limit + "; exec " HOLDFAST_BINARY " --on " + url() +
                            " run x -- true) 2>&1; echo status $?; } | cat"})
        .wait()
        .out;
  };
  const std::string size = limited("-f 0");
  EXPECT_NE(size.find("ulimit -f"), std::string::npos) << size;
  EXPECT_NE(size.find("status 71"), std::string::npos) << size;
  for (const char* limit : {"-n 12", "-n 10", "-n 8"}) {
    const std::string files = limited(limit);
    EXPECT_NE(files.find("ulimit -n"), std::string::npos) << limit << ": " << files;
    EXPECT_EQ(files.find("permission"), std::string::npos) << limit << ": " << files;
    EXPECT_EQ(files.find("internal"), std::string::npos) << limit << ": " << files;
  }
}

TEST_F(RunTest, AWriteBeyondTheLimitOfFileSizesStillKillsTheCommand) {
  const Output output =
      start_plain({"sh", "-c",
                   "ulimit -f 4000; exec " HOLDFAST_BINARY " --on " + url() +
                       " run x -- dd if=/dev/zero of=" + path("big") + " bs=1M count=9"})
          .wait();
  EXPECT_EQ(output.status, 128 + SIGXFSZ) << output.err;
}

}  // namespace
}  // namespace holdfast::test
