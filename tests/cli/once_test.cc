// holdfast run --once-per, --keep and --jitter, and holdfast jobs.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "cli_fixture.h"
#include "movable_clock.h"
#include "redis_server.h"

namespace holdfast::test {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using std::chrono::steady_clock;

class OnceTest : public CliTest {
 protected:
  // run nightly --once-per 1d OPTIONS -- sh -c SCRIPT
  static Words nightly(const std::string& script, const Words& options = {}) {
    Words words = {"run", "nightly", "--once-per", "1d", "--zone", "UTC"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "sh", "-c", script});
    return words;
  }
  nlohmann::json job() const { return json({"jobs", "nightly"})["jobs"].at(0); }
  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_F(OnceTest, TheSecondOfADayIsToldWhoDidItAndHowItEnded) {
  const Output first = run(nightly("echo ran", {"--label", "alice at db1"}));
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.out, "ran\n");
  EXPECT_EQ(first.err, "");
  const Output second = run(nightly("echo ran"));
  EXPECT_EQ(second.status, 0);
  EXPECT_EQ(second.out, "");
  EXPECT_TRUE(contains(second.err, "'nightly' is not due until ")) << second.err;
  EXPECT_TRUE(contains(second.err, "done by alice at db1, ")) << second.err;
  EXPECT_TRUE(contains(second.err, ", status 0")) << second.err;
  const Output quiet = run(nightly("echo ran", {"--quiet"}));
  EXPECT_EQ(quiet.out + quiet.err, "");
}

TEST_F(OnceTest, JsonTellsTheSame) {
  Words words = nightly("exit 0", {"--label", "alice at db1"});
  const nlohmann::json ran = json(words);
  EXPECT_EQ(ran["once"], "ran");
  EXPECT_EQ(ran["job"]["token"], ran["token"]);
  const nlohmann::json done = json(words);
  EXPECT_EQ(done["once"], "done_already");
  EXPECT_EQ(done["job"], ran["job"]);
  EXPECT_EQ(done["job"]["by"], "alice at db1");
}

TEST_F(OnceTest, OfThreeAtOnceOneRuns) {
  std::vector<Process> all;
  for (int i = 0; i < 3; ++i) all.push_back(start(nightly("echo >>" + path("ran"))));
  for (Process& one : all) EXPECT_EQ(one.wait().status, 0);
  EXPECT_EQ(read_all(path("ran")), "\n");
}

TEST_F(OnceTest, ARunThatFailedIsDueAgainUnlessItCountsAllTheSame) {
  EXPECT_EQ(run(nightly("exit 3")).status, 3);
  EXPECT_EQ(job()["state"], "failed");
  EXPECT_EQ(job()["status"], 3);
  const Output told = run(nightly("echo again", {"--once-even-if-failed"}));
  EXPECT_EQ(told.status, 0);
  EXPECT_EQ(told.out, "");
  EXPECT_TRUE(contains(told.err, "failed by ")) << told.err;
  EXPECT_EQ(run(nightly("echo again")).out, "again\n");
  EXPECT_EQ(job()["attempt"], 2);
}

TEST_F(OnceTest, ACommandThatCannotBeRunIsAFailure) {
  EXPECT_EQ(run({"run", "nightly", "--once-per", "1d", "--", "no-such-command"}).status, 127);
  EXPECT_EQ(job()["status"], 127);
  EXPECT_EQ(run({"run", "nightly", "--once-per", "1d", "--", "true"}).status, 0);
}

TEST_F(OnceTest, ARunThatWasKilledIsTakenOverAndThatIsSaid) {
  Process first = start(nightly("echo up; sleep 60", {"--label", "alice at db1"}));
  ASSERT_TRUE(eventually([&] { return first.out() == "up\n"; }));
  EXPECT_EQ(job()["state"], "running");
  first.kill(SIGKILL);
  first.wait();
  ASSERT_TRUE(eventually([&] { return job()["state"] == "died"; }));
  const Output second = run(nightly("echo again"));
  EXPECT_EQ(second.status, 0);
  EXPECT_EQ(second.out, "again\n");
  EXPECT_TRUE(contains(second.err, "the run that alice at db1 began")) << second.err;
  EXPECT_EQ(run(nightly("echo again")).out, "");
}

TEST_F(OnceTest, ANewDayIsDueAgainAndAClockThatIsSetBackIsNot) {
  MovableClock clock(path("clock"));
  ProcessOptions with_clock;
  for (const std::string& variable : clock.environment()) {
    const std::size_t equals = variable.find('=');
    with_clock.environment[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  EXPECT_EQ(run(nightly("echo ran"), with_clock).out, "ran\n");
  clock.jump(hours(24));
  EXPECT_EQ(run(nightly("echo ran"), with_clock).out, "ran\n");
  clock.jump(-hours(24));
  const Output back = run(nightly("echo ran"), with_clock);
  EXPECT_EQ(back.out, "");
  EXPECT_EQ(back.status, 0);
  EXPECT_TRUE(contains(back.err, "this machine's clock is behind")) << back.err;
  clock.jump(-hours(24 * 30));
  const Output far = run(nightly("echo ran"), with_clock);
  EXPECT_EQ(far.status, 78);
  EXPECT_TRUE(contains(far.err, "--forget")) << far.err;
}

TEST_F(OnceTest, AMachineWithAnotherPeriodIsTold) {
  EXPECT_EQ(run(nightly("echo ran")).out, "ran\n");
  const Output other =
      run({"run", "nightly", "--once-per", "1h", "--sliding", "--", "echo", "ran"});
  EXPECT_EQ(other.out, "");
  EXPECT_TRUE(contains(other.err, "1d at 00:00 in UTC, not sliding 1h")) << other.err;
}

TEST_F(OnceTest, AnEngineThatIsDownAtTheTimeIsWaitedFor) {
  const int port = free_port();
  const std::string url = "redis://127.0.0.1:" + std::to_string(port);
  Words words = {HOLDFAST_BINARY, "--on", url};
  const Words command = nightly("echo ran");
  words.insert(words.end(), command.begin(), command.end());
  Process early = start_plain(words);
  ASSERT_TRUE(eventually([&] { return !early.err().empty(); })) << "it says what it waits for";
  const RedisServer server({.port = port});
  const Output output = early.wait();
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(output.out, "ran\n");
}

TEST_F(OnceTest, AStoreThatBecomesFullDuringTheRunIsSaid) {
  RedisServer server;
  Words words = {HOLDFAST_BINARY, "--on", server.url()};
  const Words command = nightly("echo up; while [ ! -e " + path("go") + " ]; do sleep 0.01; done",
                                {"--ttl", "1s", "--label", "alice"});
  words.insert(words.end(), command.begin(), command.end());
  Process process = start_plain(words);
  ASSERT_TRUE(eventually([&] { return process.out() == "up\n"; })) << process.err();
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  std::ofstream(path("go")) << "\n";
  const Output output = process.wait();
  EXPECT_NE(output.status, 0);
  EXPECT_TRUE(contains(output.err, "ended with status 0, but that could not be recorded"))
      << output.err;
  server.command({"CONFIG", "SET", "maxmemory", "0"});
  words[2] = server.url();
  const Output again = start_plain({HOLDFAST_BINARY, "--on", server.url(), "run", "nightly",
                                    "--once-per", "1d", "--zone", "UTC", "--", "echo", "again"})
                           .wait();
  EXPECT_EQ(again.out, "again\n");
  EXPECT_TRUE(contains(again.err, "the run that alice began")) << again.err;
}

TEST_F(OnceTest, TheLockIsKeptForAsLongAsWasAsked) {
  const auto begun = steady_clock::now();
  EXPECT_EQ(run({"run", "x", "--ttl", "1s", "--keep", "2s", "--", "true"}).status, 0);
  EXPECT_EQ(run({"run", "x", "-n", "--", "true"}).status, 75);
  EXPECT_EQ(run({"run", "x", "--wait", "20s", "--", "true"}).status, 0);
  const auto kept = steady_clock::now() - begun;
  EXPECT_GE(kept, seconds(2));
  EXPECT_LT(kept, seconds(15));
}

TEST_F(OnceTest, TheLockIsKeptAlsoIfItsHolderIsKilled) {
  const auto begun = steady_clock::now();
  Process holder =
      start({"run", "x", "--ttl", "1s", "--keep", "3s", "--", "sh", "-c", "echo up; sleep 60"});
  ASSERT_TRUE(eventually([&] { return holder.out() == "up\n"; }));
  holder.kill(SIGKILL);
  holder.wait();
  EXPECT_EQ(run({"run", "x", "--wait", "20s", "--", "true"}).status, 0);
  EXPECT_GE(steady_clock::now() - begun, seconds(3));
}

TEST_F(OnceTest, WhatIsDoneAlreadyKeepsNoLock) {
  EXPECT_EQ(run(nightly("true")).status, 0);
  EXPECT_EQ(run(nightly("true", {"--keep", "1h"})).status, 0);
  EXPECT_EQ(run({"run", "nightly", "-n", "--", "true"}).status, 0);
}

TEST_F(OnceTest, ThePauseBeforeARunEndsByASignal) {
  Process process = start({"run", "x", "--jitter", "700h", "--", "true"});
  EXPECT_TRUE(eventually([&] { return guard_of(process.pid()) > 0; }));
  EXPECT_TRUE(process.running());
  process.kill(SIGTERM);
  EXPECT_EQ(process.wait().status, 128 + SIGTERM);
  EXPECT_EQ(run({"run", "x", "--jitter", "1ms", "--", "echo", "ran"}).out, "ran\n");
}

TEST_F(OnceTest, WhatMakesNoSenseIsRefusedBeforeAnythingIsRun) {
  const auto refused = [&](const Words& options, const std::string& because) {
    Words words = {"run", "x"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "echo", "ran"});
    const Output output = run(words);
    EXPECT_EQ(output.status, 64) << because;
    EXPECT_EQ(output.out, "");
    EXPECT_TRUE(contains(output.err, because)) << output.err;
  };
  refused({"--once-per", "5h"}, "4h");
  refused({"--once-per", "day"}, "such as");
  refused({"--once-per", "1d", "--at", "25:00"}, "03:00");
  refused({"--once-per", "1d", "--zone", "Mars/Olympus"}, "Europe/Berlin");
  refused({"--once-per", "1d", "--sliding", "--at", "03:00"}, "--at");
  refused({"--at", "03:00"}, "--once-per");
  refused({"--once-even-if-failed"}, "--once-per");
  refused({"--once-per", "10s"}, "shorter than --ttl");
  refused({"--once-per", "1h", "--keep", "2h"}, "shorter than --keep");
  refused({"--once-per", "1d", "--shared"}, "--shared");
  refused({"--once-per", "1d", "--permits", "2"}, "--permits");
  refused({"y", "--once-per", "1d"}, "one name");
  refused({"--keep", "soon"}, "--keep");
  refused({"--jitter", "-1s"}, "--jitter");
  EXPECT_EQ(json({"jobs"})["jobs"].size(), 0U);
}

TEST_F(OnceTest, AnEngineWithoutRecordsIsRefusedWithTheReason) {
  const Output output = run_bare(
      {"--on", "memcached://127.0.0.1:1", "run", "x", "--once-per", "1d", "--", "echo", "ran"});
  EXPECT_EQ(output.status, 64);
  EXPECT_EQ(output.out, "");
  EXPECT_TRUE(contains(output.err, "keeps no record")) << output.err;
}

TEST_F(OnceTest, JobsShowsTheLastRunsAndForgetsThem) {
  run(nightly("true", {"--label", "alice at db1"}));
  run({"run", "weekly report", "--once-per", "1w", "--zone", "Europe/Berlin", "--at", "04:00", "--",
       "false"});
  const Output table = run({"jobs"});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_TRUE(contains(table.out, "nightly")) << table.out;
  EXPECT_TRUE(contains(table.out, "alice at db1")) << table.out;
  EXPECT_TRUE(contains(table.out, "1w at 04:00 in Europe/Berlin")) << table.out;
  EXPECT_EQ(json({"jobs", "week"})["jobs"].size(), 1U);
  EXPECT_EQ(json({"jobs", "week"})["jobs"][0]["state"], "failed");
  EXPECT_EQ(json({"show", "nightly"})["job"]["by"], "alice at db1");
  EXPECT_TRUE(contains(run({"show", "nightly"}).out, "last run: done by alice at db1"));
  EXPECT_FALSE(json({"show", "never"}).contains("job"));

  EXPECT_EQ(run({"jobs", "--forget", "nightly"}).status, 0);
  EXPECT_EQ(run(nightly("echo again")).out, "again\n");
  const Output none = run({"jobs", "--forget", "never"});
  EXPECT_EQ(none.status, 0);
  EXPECT_TRUE(contains(none.err, "no record")) << none.err;
}

TEST_F(OnceTest, ARunBelowItsOwnJobIsRefused) {
  const std::string below = std::string(HOLDFAST_BINARY) + " --on " + url() +
                            " run nightly --once-per 1d --reenter -- echo ran";
  const Output output = run(nightly(below));
  EXPECT_EQ(output.status, 64);
  EXPECT_EQ(output.out, "");
}

}  // namespace
}  // namespace holdfast::test
