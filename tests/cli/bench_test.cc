// holdfast bench: that it measures and reports, never how fast.
#include <signal.h>

#include "cli_fixture.h"

namespace holdfast::test {
namespace {

using BenchTest = CliTest;

TEST_F(BenchTest, CountsPairsInEveryMode) {
  for (const char* mode : {"exclusive", "shared", "permits"}) {
    const auto report = json({"bench", "--seconds", "1", "--mode", mode, "--workers", "2"});
    EXPECT_GT(report["pairs"], 0) << mode;
    EXPECT_GT(report["acquire_us"]["p50"], 0);
    EXPECT_LE(report["acquire_us"]["p50"], report["acquire_us"]["p99.9"]);
  }
}

TEST_F(BenchTest, MeasuresHandOffBetweenProcesses) {
  const auto report = json({"bench", "--seconds", "1", "--processes", "2"});
  EXPECT_GT(report["owner_changes_per_second"], 0);
  EXPECT_GT(report["handoff_us"]["p50"], 0);
  EXPECT_EQ(report["losses"], 0);
}

TEST_F(BenchTest, RunsClaimsInFlight) {
  const auto report = json({"bench", "--seconds", "1", "--in-flight", "8", "--names", "2"});
  EXPECT_GT(report["pairs"], 0);
  EXPECT_GT(report["handoff_us"]["count"], 0) << "the claims take turns";
}

TEST_F(BenchTest, TellsPeopleToo) {
  const Output output = run({"bench", "--seconds", "1", "--workers", "2", "--hold", "1ms"});
  EXPECT_EQ(output.status, 0) << output.err;
  for (const char* word : {"pairs", "changes of owner", "acquire", "hand-off", "p99.9"}) {
    EXPECT_NE(output.out.find(word), std::string::npos) << output.out;
  }
  EXPECT_EQ(output.err, "") << "no progress line without a terminal";
}

TEST_F(BenchTest, CtrlCEndsItAndLeavesNoLock) {
  Process bench = start({"bench", "--seconds", "60", "--workers", "3"});
  ASSERT_TRUE(eventually([&] { return json({"ls", "holdfast-bench"})["locks"].size() == 1; }));
  bench.kill(SIGINT);
  EXPECT_EQ(bench.wait().status, 130);
  EXPECT_EQ(json({"ls"})["locks"].size(), 0U);
}

TEST_F(BenchTest, AnEngineThatCannotBeOpenedIsReported) {
  EXPECT_EQ(run_bare({"--on", "nope://", "bench", "--seconds", "1"}).status, 64);
}

}  // namespace
}  // namespace holdfast::test
