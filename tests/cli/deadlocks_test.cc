// holdfast deadlocks, and the owners of run, acquire, ls and show, on real engines.
#include "cli_fixture.h"
#include "postgres_server.h"
#include "redis_server.h"

namespace holdfast::test {
namespace {

class DeadlocksTest : public CliTest {
 protected:
  static std::string hold(const std::string& url, const std::string& name, const std::string& owner,
                          const Words& options = {}) {
    Words words = {"acquire", name, "--on", url, "--owner", owner, "--ttl", "10m"};
    words.insert(words.end(), options.begin(), options.end());
    const Output output = run_bare(words);
    EXPECT_EQ(output.status, 0) << output.err;
    return output.out.substr(0, output.out.find('\n'));
  }

  // Returns when it waits.
  static Process wait_for(const std::string& url, const std::string& name, const std::string& owner,
                          std::size_t waiters = 1) {
    Process process =
        start_plain({HOLDFAST_BINARY, "--on", url, "run", name, "--quiet", "--", "true"},
                    {.environment = {{"HOLDFAST_OWNER", owner}}});
    EXPECT_TRUE(eventually([&] {
      const Output shown = run_bare({"--json", "show", name, "--on", url});
      return nlohmann::json::parse(shown.out)["waiters"].size() == waiters;
    }));
    return process;
  }

  static Words looking_at(const Words& places, const Words& words = {"deadlocks"}) {
    Words all;
    for (const std::string& place : places) {
      all.emplace_back("--on");
      all.push_back(place);
    }
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
  static nlohmann::json found_at(const Words& places, int status) {
    const Output output = run_bare(looking_at(places, {"--json", "deadlocks"}));
    EXPECT_EQ(output.status, status) << output.out << output.err;
    return nlohmann::json::parse(output.out);
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_F(DeadlocksTest, TwoOwnersAcrossRedisAndPostgresqlAreFoundUntilOneGivesBack) {
  RedisServer redis;
  PostgresServer postgres;
  const std::string stock = hold(redis.url(), "stock", "job-7");
  const std::string ledger = hold(postgres.url(), "ledger", "job-9");
  const Process one = wait_for(postgres.url(), "ledger", "job-7");
  EXPECT_EQ(run_bare(looking_at({redis.url(), postgres.url()})).status, 0) << "a wait is no circle";
  const Process other = wait_for(redis.url(), "stock", "job-9");

  const nlohmann::json found = found_at({"shop=" + redis.url(), postgres.url()}, 1);
  ASSERT_EQ(found["deadlocks"].size(), 1U) << found;
  const nlohmann::json& deadlock = found["deadlocks"][0];
  EXPECT_EQ(deadlock["certain"], true);
  EXPECT_EQ(deadlock["youngest"], "job-9");
  ASSERT_EQ(deadlock["waits"].size(), 2U);
  EXPECT_EQ(deadlock["waits"][0]["owner"], "job-7");
  EXPECT_EQ(deadlock["waits"][0]["engine"], "postgres");
  EXPECT_EQ(deadlock["waits"][0]["for"][0]["owner"], "job-9");
  EXPECT_EQ(deadlock["waits"][1]["name"], "stock");
  EXPECT_EQ(deadlock["waits"][1]["engine"], "shop");
  EXPECT_EQ(deadlock["waits"][1]["mode"], "exclusive");
  EXPECT_GT(deadlock["waits"][1]["waited_for_ms"], 0);

  const Output told = run_bare(looking_at({redis.url(), postgres.url()}));
  EXPECT_EQ(told.status, 1) << told.err;
  EXPECT_TRUE(has(told.out, "a deadlock of 2 owners:\n  job-7 (")) << told.out;
  EXPECT_TRUE(has(told.out, "for 'ledger' on postgres, held by job-9, token ")) << told.out;
  // A login is shown to nobody.
  EXPECT_TRUE(
      has(told.out,
          "the youngest wait is job-9's; to end it: holdfast --on 'postgres://***@127.0.0.1:"))
      << told.out;
  EXPECT_TRUE(has(told.out, " break ledger --token ")) << told.out;

  // One engine alone shows no circle.
  EXPECT_EQ(run_bare(looking_at({redis.url()})).status, 0);
  ASSERT_EQ(run_bare({"release", stock, "--on", redis.url()}).status, 0);
  EXPECT_TRUE(found_at({redis.url(), postgres.url()}, 0)["deadlocks"].empty());
  run_bare({"release", ledger, "--on", postgres.url()});
}

TEST_F(DeadlocksTest, TheCommandThatItNamesEndsIt) {
  RedisServer redis;
  hold(url(), "it's a lock", "a");
  hold(redis.url(), "y", "b");
  Process one = wait_for(redis.url(), "y", "a");
  const Process other = wait_for(url(), "it's a lock", "b");
  const Output told = run_bare(looking_at({redis.url(), url()}));
  ASSERT_EQ(told.status, 1) << told.out << told.err;
  const std::size_t begin = told.out.find("to end it: holdfast ") + 20;
  const std::string words = told.out.substr(begin, told.out.find(", or end that program") - begin);
  const Output broken =
      start_plain({"sh", "-c", std::string(HOLDFAST_BINARY) + " " + words}).wait();
  EXPECT_EQ(broken.status, 0) << words << broken.err;
  EXPECT_EQ(one.wait().status, 0) << "it was granted what b held";
  EXPECT_EQ(run_bare(looking_at({redis.url(), url()})).status, 0);
}

TEST_F(DeadlocksTest, AQueueIsNone) {
  hold(url(), "x", "a");
  const Process first = wait_for(url(), "x", "b", 1);
  const Process second = wait_for(url(), "x", "c", 2);
  const Output told = run({"deadlocks"});
  EXPECT_EQ(told.status, 0) << told.out << told.err;
  EXPECT_EQ(told.out, "no deadlock\n");
}

TEST_F(DeadlocksTest, AnOwnerThatWaitsForItselfIsOnlyPossible) {
  hold(url(), "x", "a");
  const Process first = wait_for(url(), "x", "a");
  const Output told = run({"deadlocks"});
  EXPECT_EQ(told.status, 0) << told.out << told.err;
  EXPECT_TRUE(has(told.out, "possibly a deadlock: a waits for what it holds itself")) << told.out;
  EXPECT_EQ(found_at({url()}, 0)["deadlocks"][0]["certain"], false);
}

TEST_F(DeadlocksTest, AnEngineThatIsDownIsToldAndTheOthersAreStillLookedAt) {
  EXPECT_EQ(run_bare(looking_at({url(), "redis://127.0.0.1:1"})).status, 69);
  hold(url(), "x", "a");
  hold(url(), "y", "b");
  const Process one = wait_for(url(), "x", "b");
  const Process other = wait_for(url(), "y", "a");
  const nlohmann::json found = found_at({"redis://:sesame@127.0.0.1:1", url()}, 1);
  EXPECT_EQ(found["deadlocks"].size(), 1U);
  EXPECT_EQ(found["unreachable"][0]["engine"], "redis");
  EXPECT_EQ(found["unreachable"][0]["error"]["code"], "unreachable");
  EXPECT_FALSE(has(found.dump(), "sesame"));
}

TEST_F(DeadlocksTest, OnlyCommandsForSeveralEnginesTakeOnSeveralTimes) {
  for (const Words& words : {Words{"ls"}, Words{"show", "x"}, Words{"run", "x", "--", "true"},
                             Words{"acquire", "x"}, Words{"doctor"}}) {
    const Output output = run_bare(looking_at({url(), url()}, words));
    EXPECT_EQ(output.status, 64) << words[0];
    EXPECT_TRUE(has(output.err, "give --on once")) << words[0] << ": " << output.err;
  }
  EXPECT_EQ(run_bare(looking_at({"a=" + url(), "a=" + url()})).status, 64);
  EXPECT_EQ(run_bare(looking_at({"a="})).status, 64);
  EXPECT_EQ(run_bare(looking_at({"nothing://x"})).status, 64);
  const Output two = run_bare(looking_at({url(), url(), "c=" + url()}));
  EXPECT_EQ(two.status, 0) << two.err;
}

TEST_F(DeadlocksTest, APasswordBehindANameIsHiddenFromTheProcessList) {
  const Process process = start_plain(
      {HOLDFAST_BINARY, "--on", "shop=redis://:sesame@127.0.0.1:1", "run", "x", "--", "true"});
  EXPECT_TRUE(eventually([&] {
    const std::string words = read_all("/proc/" + std::to_string(process.pid()) + "/cmdline");
    return words.find("sesame") == std::string::npos;
  }));
  const Output output = run_bare(looking_at({"shop=redis://:sesame@127.0.0.1:1"}));
  EXPECT_FALSE(has(output.out + output.err, "sesame")) << output.err;
}

// ---- Owners -----------------------------------------------------------------------------------

TEST_F(DeadlocksTest, RunGivesItsCommandItsOwner) {
  EXPECT_EQ(run({"run", "x", "--owner", "job-7", "--", "printenv", "HOLDFAST_OWNER"}).out,
            "job-7\n");
  EXPECT_EQ(run({"run", "x", "--", "printenv", "HOLDFAST_OWNER"},
                {.environment = {{"HOLDFAST_OWNER", "outer"}}})
                .out,
            "outer\n");
  EXPECT_EQ(run({"run", "x", "--owner", "inner", "--", "printenv", "HOLDFAST_OWNER"},
                {.environment = {{"HOLDFAST_OWNER", "outer"}}})
                .out,
            "inner\n");
  const std::string drawn = run({"run", "x", "--", "printenv", "HOLDFAST_OWNER"},
                                {.environment = {{"HOLDFAST_OWNER", "not an owner"}}})
                                .out;
  EXPECT_EQ(drawn.size(), 13U) << drawn;
}

TEST_F(DeadlocksTest, ANestedRunIsOfTheSameOwner) {
  const std::string hf = std::string(HOLDFAST_BINARY) + " --on " + url();
  const Output output = run({"run", "x", "--", "sh", "-c", hf + " run y -- " + hf + " --json ls"});
  ASSERT_EQ(output.status, 0) << output.err;
  const auto locks = nlohmann::json::parse(output.out)["locks"];
  ASSERT_EQ(locks.size(), 2U);
  EXPECT_EQ(locks[0]["holders"][0]["owner"], locks[1]["holders"][0]["owner"]);
  EXPECT_NE(locks[0]["holders"][0]["owner"], "");
}

TEST_F(DeadlocksTest, LsAndShowTellOwners) {
  hold(url(), "x", "job-7");
  const Process waiter = wait_for(url(), "x", "job-9");
  const auto listed = json({"ls"})["locks"][0];
  EXPECT_EQ(listed["holders"][0]["owner"], "job-7");
  EXPECT_EQ(listed["waiters"][0]["owner"], "job-9");
  EXPECT_EQ(json({"show", "x"})["holders"][0]["owner"], "job-7");
  const std::string shown = run({"show", "x"}).out;
  EXPECT_TRUE(has(shown, "OWNER") && has(shown, "job-7") && has(shown, "job-9")) << shown;
}

TEST_F(DeadlocksTest, ABadOwnerIsABadArgument) {
  for (const std::string owner :
       {"two words", "x\x1fy", "\xc3\xa9", "1234567890123456789012345678901234567890x"}) {
    EXPECT_EQ(run({"acquire", "x", "--owner", owner}).status, 64) << owner;
    EXPECT_EQ(run({"run", "x", "--owner", owner, "--", "true"}).status, 64) << owner;
  }
}

}  // namespace
}  // namespace holdfast::test
