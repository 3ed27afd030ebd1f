// holdfast torture: that experiments come out as they must, on real servers, and that nothing is
// left of them. The long list is for `holdfast torture --all`.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "cli_fixture.h"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

class TortureTest : public CliTest {
 protected:
  // The cell of one experiment.
  nlohmann::json experiment(const std::string& scenario, const std::string& engine) {
    const Output output =
        run_bare({"--json", "torture", "--scenario", scenario, "--engine", engine});
    const auto page = nlohmann::json::parse(output.out, nullptr, false);
    EXPECT_FALSE(page.is_discarded()) << output.out << output.err;
    EXPECT_EQ(output.status, 0) << output.out;
    EXPECT_TRUE(page["as_expected"]) << page["scenarios"].dump(2).substr(0, 3000);
    return page["scenarios"][0]["engines"][engine];
  }
};

// Rows of docs/SAFETY.md that run with every test run, on one engine.
struct Cells {
  const char* name;
  const char* engine;
  std::vector<std::string> rows;
};

class TortureCells : public TortureTest, public testing::WithParamInterface<Cells> {};

INSTANTIATE_TEST_SUITE_P(
    Torture, TortureCells,
    testing::Values(Cells{"redis", "redis", {"4"}},                       //
                    Cells{"redlock_clocks", "redlock", {"4", "5", "6"}},  //
                    Cells{"redlock_crashes", "redlock", {"8", "9"}},      //
                    Cells{"redlock_late_restart", "redlock", {"9b"}},     //
                    Cells{"redlock_turns", "redlock", {"19", "23", "24"}},
                    Cells{"zookeeper_pauses", "zookeeper", {"1", "2"}},
                    Cells{"zookeeper_minority", "zookeeper", {"13"}},
                    Cells{"zookeeper_waiters", "zookeeper", {"16", "17"}},
                    Cells{"etcd_pauses", "etcd", {"1", "2"}},
                    Cells{"etcd_minority", "etcd", {"13"}},
                    Cells{"etcd_waiters", "etcd", {"16", "17"}},
                    Cells{"mysql_writes", "mysql", {"1", "3"}},
                    Cells{"mysql_ends", "mysql", {"18", "22"}},
                    Cells{"mysql_named", "mysql-named", {"1", "18"}},
                    Cells{"postgres_writes", "postgres", {"1", "3"}},
                    Cells{"postgres_ends", "postgres", {"18", "22"}},
                    Cells{"postgres_advisory", "postgres-advisory", {"1", "18"}}),
    [](const auto& cells) { return std::string(cells.param.name); });

TEST_P(TortureCells, ComeOutAsExpected) {
  Words words = {HOLDFAST_BINARY, "--json", "torture", "--engine", GetParam().engine};
  for (const std::string& row : GetParam().rows) {
    words.insert(words.end(), {"--scenario", row});
  }
  // A busy machine takes long to make the server of a database.
  const Output output = start_plain(words).wait(std::chrono::seconds(110));
  const auto page = nlohmann::json::parse(output.out, nullptr, false);
  ASSERT_FALSE(page.is_discarded()) << output.out << output.err;
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_TRUE(page["as_expected"]) << page["scenarios"].dump(2).substr(0, 3000);
  ASSERT_EQ(page["scenarios"].size(), GetParam().rows.size());
  for (const auto& row : page["scenarios"]) {
    const auto& cell = row["engines"][GetParam().engine];
    EXPECT_NE(cell["measured"], "?") << row["scenario"];
    EXPECT_EQ(cell["questions"]["harm_fenced"]["yes"], 0) << row["scenario"];
  }
}

TEST_F(TortureTest, AHolderThatPausesHarmsWhatHasNoFence) {
  for (const char* engine : {"sqlite", "redis"}) {
    const auto cell = experiment("1", engine);
    EXPECT_EQ(cell["measured"], "V, f S") << engine;
    EXPECT_EQ(cell["questions"]["harm_write_fenced"]["yes"], 1) << "a write-only fence is no fence";
    EXPECT_EQ(cell["questions"]["harm_fenced"]["yes"], 0);
    EXPECT_GT(cell["kept"]["history"].size(), 20U);
  }
}

TEST_F(TortureTest, ARestartWithoutDataIsCaughtAndOneWithDataIsSafe) {
  EXPECT_EQ(experiment("8", "redis")["measured"], "V, f S");
  EXPECT_EQ(experiment("9", "redis")["measured"], "S");
}

// A holder that nobody hears of, and a server that has forgotten its session.
TEST_F(TortureTest, ASilentHolderOutlivesTheRestartOfItsServer) {
  EXPECT_EQ(experiment("25", "mysql-named")["measured"], "S");
}

TEST_F(TortureTest, ARestoredBackupGivesNoTokenTwice) {
  for (const char* engine : {"sqlite", "redis", "mysql"}) {
    EXPECT_EQ(experiment("26", engine)["measured"], "V, f S") << engine;
  }
}

TEST_F(TortureTest, DisksMemoryAndSettingsAreTormentedToo) {
  EXPECT_EQ(experiment("28", "redis")["measured"], "S");
  EXPECT_EQ(experiment("30", "redis")["measured"], "S");
  EXPECT_EQ(experiment("32", "mysql")["measured"], "S");
}

TEST_F(TortureTest, TwoFaultsAtATimeLoseNoUpdateBehindAFullFence) {
  const std::string table = path("pairs.md");
  const Output output = run_bare({"--json", "torture", "--pairs", "--engine", "redis", "--engine",
                                  "sqlite", "--fault", "pause", "--fault", "silent", "--fault",
                                  "restart", "--fault", "backup", "--markdown", table});
  EXPECT_EQ(output.status, 0) << output.out.substr(0, 3000) << output.err;
  const auto page = nlohmann::json::parse(output.out, nullptr, false);
  ASSERT_FALSE(page.is_discarded()) << output.out;
  EXPECT_EQ(page["runs"], 7) << "six pairs on Redis, one on SQLite";
  for (const auto& row : page["scenarios"]) {
    const auto& questions = row["engines"]["redis"]["questions"];
    EXPECT_EQ(questions["harm_fenced"]["yes"], 0) << row["scenario"];
    EXPECT_EQ(questions["stranded"]["yes"], 0) << row["scenario"];
  }
  EXPECT_NE(read_all(table).find("| silent+restart |"), std::string::npos);
}

// A server that forgets, and a clock that cuts its silence short or takes its tokens back.
TEST_F(TortureTest, ALostServerWhoseClockJumpsLosesNoUpdateBehindAFullFence) {
  const auto run_pair = [](const char* engine, const char* clock) {
    const Output output = run_bare(
        {"--json", "torture", "--pairs", "--engine", engine, "--fault", "empty", "--fault", clock});
    EXPECT_EQ(output.status, 0) << engine << output.out.substr(0, 3000) << output.err;
  };
  run_pair("redis", "back");
  run_pair("redlock", "ahead");
}

TEST_F(TortureTest, ANaiveRecipeIsCaught) {
  EXPECT_EQ(experiment("20", "redis")["measured"], "stranded");
}

TEST_F(TortureTest, OnAServerOfTheUsersOnlyClientsSuffer) {
  const std::string page = path("page.html");
  const Output output = run({"torture", "--scenario", "1", "--scenario", "4", "--report", page,
                             "--svg", path("run.svg"), "--history", path("history")});
  EXPECT_EQ(output.status, 0) << output.out << output.err;
  EXPECT_NE(output.out.find("V, f S"), std::string::npos) << output.out;
  EXPECT_NE(read_all(page).find("</html>"), std::string::npos);
  EXPECT_NE(read_all(path("run.svg")).find("</svg>"), std::string::npos);
  EXPECT_NE(read_all(path("history")).find("\"granted\""), std::string::npos);
}

TEST_F(TortureTest, CtrlCKeepsWhatWasMeasuredAndLeavesNothing) {
  Process torture = start_plain({HOLDFAST_BINARY, "torture", "--json", "--scenario", "19",
                                 "--engine", "sqlite", "--repeat", "1000"});
  std::this_thread::sleep_for(std::chrono::seconds(6));
  torture.kill(SIGINT);
  const Output output = torture.wait();
  EXPECT_EQ(output.status, 130) << output.err;
  const auto page = nlohmann::json::parse(output.out, nullptr, false);
  ASSERT_FALSE(page.is_discarded()) << output.out;
  EXPECT_TRUE(page["partial"]);
}

// True for a process that serves Redis; not for one that only tells its version, which is started
// before the server where HOLDFAST_SERVERS_MET or HOLDFAST_SERVER is set.
bool serves_redis(pid_t pid) {
  const std::string name = name_of(pid);
  if (name != "redis-server" && name != "valkey-server") return false;
  const std::string words = read_all("/proc/" + std::to_string(pid) + "/cmdline");
  return !words.empty() && words.find("--version") == std::string::npos;
}

// The one Redis that `parent` runs, as soon as there is one.
pid_t await_redis(const Process& parent) {
  pid_t found = -1;
  EXPECT_TRUE(eventually([&] {
    for (const pid_t child : children_of(parent.pid())) {
      if (serves_redis(child)) found = child;
    }
    return found > 0;
  }));
  return found;
}

TEST_F(TortureTest, CtrlCEndsTheServersToo) {
  Process torture = start_plain(
      {HOLDFAST_BINARY, "torture", "--scenario", "13", "--engine", "redis", "--repeat", "1000"});
  const pid_t server = await_redis(torture);
  torture.kill(SIGINT);
  const Output output = torture.wait();
  EXPECT_EQ(output.status, 130) << output.err;
  EXPECT_NE(output.out.find("PARTIAL"), std::string::npos) << output.out;
  EXPECT_FALSE(is_alive(server));
}

TEST_F(TortureTest, FromAServerThatDiesByItselfNothingFollows) {
  Process torture =
      start_plain({HOLDFAST_BINARY, "torture", "--scenario", "19", "--engine", "redis"});
  const pid_t server = await_redis(torture);
  ASSERT_GT(server, 0);  // kill() takes -1 for everybody.
  ::kill(server, SIGKILL);
  const Output output = torture.wait();
  EXPECT_EQ(output.status, 1) << output.out;
  EXPECT_NE(output.out.find("nothing is known"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("? 19 on redis: run 1: "), std::string::npos) << output.out;
}

TEST_F(TortureTest, AServerThatIsNotInstalledIsNamedWithItsPackage) {
  ProcessOptions options;
  options.environment["PATH"] = "/nowhere";
  const Output output = run_bare({"torture", "--engine", "memcached", "--scenario", "1"}, options);
  // Administrators' programs are looked for where they always are.
  if (fs::exists("/usr/sbin/memcached") || fs::exists("/usr/local/sbin/memcached")) return;
  EXPECT_EQ(output.status, 69);
  EXPECT_NE(output.err.find("apt-get install memcached"), std::string::npos) << output.err;
}

TEST_F(TortureTest, AVersionThatIsNotUnpackedIsNamedWithWhatIs) {
  ProcessOptions options;
  options.environment["HOLDFAST_SERVERS"] = "/nowhere";
  const Words words{"torture", "--server", "mysql-9.7", "--engine", "mysql", "--scenario", "1"};
  const Output output = run_bare(words, options);
  EXPECT_EQ(output.status, 69) << output.out;
  EXPECT_NE(output.err.find("mysql 9.7 is not in /nowhere"), std::string::npos) << output.err;
  EXPECT_NE(output.err.find("scripts/servers mysql"), std::string::npos) << output.err;
}

TEST_F(TortureTest, BadInputIsRefusedWithAHint) {
  const auto refused = [](Words words, const std::string& part) {
    const Output output = run_bare(std::move(words));
    EXPECT_EQ(output.status, 64) << output.out;
    EXPECT_NE(output.err.find(part), std::string::npos) << output.err;
  };
  refused({"torture"}, "--all");
  refused({"torture", "--scenario", "99"}, "--list");
  refused({"torture", "--engine", "abacus"}, "redlock");
  refused({"torture", "--all", "--repeat", "0"}, "--repeat");
  refused({"torture", "--all", "--jobs", "0"}, "--jobs");
  refused({"torture", "--pairs", "--fault", "gremlins"}, "silent");
  refused({"torture", "--pairs", "--fault", "silent"}, "two");
  refused({"torture", "--pairs", "--all"}, "--pairs");
  refused({"torture", "--all", "--fault", "silent"}, "--pairs");
  refused({"torture", "--random", "--duration", "soon"}, "--duration");
  refused({"torture", "--scenario", "5", "--engine", "sqlite"}, "no");
}

TEST_F(TortureTest, ListNamesEveryScenario) {
  const Output output = run_bare({"torture", "--list"});
  EXPECT_EQ(output.status, 0);
  for (const char* part : {"redlock", "a waiter dies", "control"}) {
    EXPECT_NE(output.out.find(part), std::string::npos) << output.out;
  }
}

}  // namespace
}  // namespace holdfast::test
