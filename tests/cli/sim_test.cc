// holdfast sim: that runs are repeatable, that mistakes are caught, and what it says of either.
#include <signal.h>

#include "cli_fixture.h"

namespace holdfast::test {
namespace {

using SimTest = CliTest;

nlohmann::json without_times(nlohmann::json report) {
  for (auto& result : report["results"]) {
    result.erase("cpu_seconds");
    result.erase("schedules_per_cpu_minute");
  }
  return report;
}

bool blocks(pid_t pid, int signal) {
  std::istringstream status(read_all("/proc/" + std::to_string(pid) + "/status"));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("SigBlk:")) continue;
    const unsigned long long mask = std::stoull(line.substr(7), nullptr, 16);
    return (mask >> (signal - 1) & 1U) != 0;
  }
  return false;
}

TEST_F(SimTest, TheSameSeedsGiveTheSameRun) {
  const Output once = run_bare({"--json", "sim", "lease", "session", "--schedules", "40"});
  const Output again =
      run_bare({"--json", "sim", "lease", "session", "--schedules", "40", "--threads", "1"});
  const auto first = without_times(nlohmann::json::parse(once.out));
  auto second = without_times(nlohmann::json::parse(again.out));
  second["threads"] = first["threads"];
  EXPECT_EQ(first, second) << "the number of threads changes nothing";
  EXPECT_EQ(first["results"].size(), 2U);
  EXPECT_EQ(first["results"][0]["schedules"], 40);
  EXPECT_GT(first["results"][0]["marks"]["grants"], 0);
}

TEST_F(SimTest, SaysHowLittleARunCanKnow) {
  const Output output = run_bare({"sim", "lease", "--schedules", "600"});
  EXPECT_EQ(output.status, 0) << output.out << output.err;
  EXPECT_NE(output.out.find("lease: no violation in 600 runs (at most 0.005 at 95 %)"),
            std::string::npos)
      << output.out;
  EXPECT_EQ(output.err, "") << "no progress line without a terminal";
}

TEST_F(SimTest, ARunThatExercisedTooLittleFails) {
  const Output output = run_bare({"sim", "redis", "--schedules", "1"});
  EXPECT_EQ(output.status, 2) << output.out;
  EXPECT_NE(output.out.find("never happened: "), std::string::npos) << output.out;
}

TEST_F(SimTest, ReplaysOneScheduleAsGivenWhenThen) {
  const Output once = run_bare({"sim", "--replay", "redis:5"});
  EXPECT_EQ(once.status, 0) << once.out << once.err;
  EXPECT_NE(once.out.find("when all is well again"), std::string::npos) << once.out;
  EXPECT_NE(once.out.find("then client"), std::string::npos);
  EXPECT_EQ(once.out, run_bare({"sim", "--replay", "redis:5"}).out);
  EXPECT_NE(once.out, run_bare({"sim", "--replay", "redis:6"}).out);
}

// Each is caught, and what is printed to replay it shows the violation again.
TEST_F(SimTest, EveryMistakeOfTheLiteratureIsCaught) {
  const Output output = run_bare({"--json", "sim", "--mutants"});
  EXPECT_EQ(output.status, 0) << output.out;
  const auto report = nlohmann::json::parse(output.out);
  EXPECT_GE(report["mutants"].size(), 12U);
  for (const auto& mutant : report["mutants"]) {
    ASSERT_TRUE(mutant["caught"].get<bool>()) << mutant;
    const auto schedule = mutant["violation"]["replay"].get<std::string>();
    const Output again = run_bare({"sim", "--replay", schedule});
    EXPECT_EQ(again.status, 1) << mutant["mutant"];
    const auto found = mutant["violation"]["finding"].get<std::string>();
    EXPECT_NE(again.out.find("VIOLATION: " + found), std::string::npos)
        << mutant["mutant"] << again.out;
  }
}

TEST_F(SimTest, AMutantThatSurvivesIsAFailure) {
  const Output output = run_bare({"sim", "--mutants", "--schedules", "1"});
  EXPECT_EQ(output.status, 1) << output.out;
  EXPECT_NE(output.out.find("SURVIVES"), std::string::npos) << output.out;
}

TEST_F(SimTest, CtrlCKeepsWhatIsThere) {
  Process sim = start_plain({HOLDFAST_BINARY, "sim", "lease", "--minutes", "10"});
  // Signals are its own business from the moment at which it blocks them.
  ASSERT_TRUE(eventually([&] { return blocks(sim.pid(), SIGINT); }));
  sim.kill(SIGINT);
  const Output output = sim.wait();
  EXPECT_EQ(output.status, 130) << output.out << output.err;
  EXPECT_NE(output.out.find("partial"), std::string::npos) << output.out;
}

TEST_F(SimTest, BadArgumentsAreNamed) {
  const Output workload = run_bare({"sim", "etcdd"});
  EXPECT_EQ(workload.status, 64);
  EXPECT_NE(workload.err.find("there is no workload 'etcdd'"), std::string::npos) << workload.err;
  EXPECT_EQ(run_bare({"sim", "--schedules", "0"}).status, 64);
  EXPECT_EQ(run_bare({"sim", "--minutes", "1", "--schedules", "5"}).status, 64);
  for (const char* schedule : {"redis", "redis:", "redis:x", "redis:1:", "redis:1:a", "nobody:1"}) {
    EXPECT_EQ(run_bare({"sim", "--replay", schedule}).status, 64) << schedule;
  }
}

TEST_F(SimTest, ListsWorkloadsAndWhatIsExpected) {
  const Output output = run_bare({"sim", "--list"});
  EXPECT_EQ(output.status, 0);
  for (const char* word :
       {"redlock-short", "session", "belief overlap: the server's clock jumps"}) {
    EXPECT_NE(output.out.find(word), std::string::npos) << output.out;
  }
}

}  // namespace
}  // namespace holdfast::test
