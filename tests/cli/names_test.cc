// Several names in one call: all or none, in the user's order, and nothing left behind.
#include <signal.h>

#include <sstream>

#include "cli_fixture.h"
#include "pty.h"

namespace holdfast::test {
namespace {

class NamesTest : public CliTest {
 protected:
  // A run that holds `name` until it is killed.
  Process holder(const std::string& name) const {
    Process process = start({"run", name, "--", "sh", "-c", "echo up; exec sleep 600"});
    EXPECT_TRUE(eventually([&] { return process.out() == "up\n"; })) << process.err();
    return process;
  }
  std::size_t holders(const std::string& name) const {
    return json({"show", name})["holders"].size();
  }
  std::size_t waiters(const std::string& name) const {
    return json({"show", name})["waiters"].size();
  }
  std::uint64_t token(const std::string& name) const {
    return json({"show", name})["holders"][0]["token"].get<std::uint64_t>();
  }
  std::vector<std::string> handles_of(const std::string& text) const {
    std::istringstream words(text);
    std::vector<std::string> handles;
    for (std::string word; words >> word;) handles.push_back(word);
    return handles;
  }
};

TEST_F(NamesTest, TheCommandFindsTheLocksInTheOrderInWhichTheyWereNamed) {
  Process process = start({"run", "b", "a", "c", "--", "sh", "-c",
                           "echo \"$HOLDFAST_NAME_1 $HOLDFAST_NAME_2 $HOLDFAST_NAME_3\"; "
                           "echo \"$HOLDFAST_TOKEN_1 $HOLDFAST_TOKEN_2 $HOLDFAST_TOKEN_3\"; "
                           "echo \"${HOLDFAST_NAME-none} ${HOLDFAST_TOKEN-none}\"; "
                           "echo \"$HOLDFAST_LOCKS\"; exec sleep 600"});
  ASSERT_TRUE(eventually([&] { return process.out().ends_with("]\n"); })) << process.err();
  const std::string a = std::to_string(token("a"));
  const std::string b = std::to_string(token("b"));
  const std::string c = std::to_string(token("c"));
  EXPECT_EQ(process.out(), "b a c\n" + b + " " + a + " " + c + "\nnone none\n" +
                               "[{\"name\":\"b\",\"token\":" + b + "},{\"name\":\"a\",\"token\":" +
                               a + "},{\"name\":\"c\",\"token\":" + c + "}]\n");
  process.kill(SIGTERM);
  process.wait();
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(holders(name), 0U) << name;
}

TEST_F(NamesTest, ASingleNameHasTheNumberedVariablesToo) {
  const Output output = run({"run", "x", "--", "sh", "-c",
                             "test $HOLDFAST_TOKEN = $HOLDFAST_TOKEN_1 && echo $HOLDFAST_NAME_1 "
                             "${HOLDFAST_NAME_2-none}"});
  EXPECT_EQ(output.out, "x none\n") << output.err;
}

TEST_F(NamesTest, ANameThatIsGivenTwiceIsTakenOnceAndKeepsItsPlaces) {
  const Output output =
      run({"run", "x", "y", "x", "--", "sh", "-c",
           "test $HOLDFAST_TOKEN_1 = $HOLDFAST_TOKEN_3 && echo $HOLDFAST_NAME_3"});
  EXPECT_EQ(output.out, "x\n") << output.err;
}

TEST_F(NamesTest, NamesThatLookLikeListsStayWhatTheyAre) {
  const Output output =
      run({"run", "[a,b]", "{}", "--", "sh", "-c", "echo \"$HOLDFAST_NAME_1 $HOLDFAST_NAME_2\""});
  EXPECT_EQ(output.out, "[a,b] {}\n") << output.err;
}

TEST_F(NamesTest, AllOrNone) {
  Process first = holder("b");
  EXPECT_EQ(run({"run", "a", "b", "-n", "--", "touch", path("ran")}).status, 75);
  const Output late = run({"run", "c", "b", "a", "--wait", "200ms", "--", "touch", path("ran")});
  EXPECT_EQ(late.status, 75);
  EXPECT_NE(late.err.find("'b'"), std::string::npos) << late.err;
  EXPECT_EQ(run({"acquire", "a", "b", "-n"}).status, 75);
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
  for (const char* name : {"a", "c"}) EXPECT_EQ(holders(name), 0U) << name;
  EXPECT_EQ(waiters("b"), 0U);
}

TEST_F(NamesTest, RunsThatNameThemInOppositeOrdersDoNotBlockEachOther) {
  std::vector<Process> processes;
  for (int i = 0; i < 6; ++i) {
    Words words = {"run", "a", "b", "c", "--wait", "60s", "--", "true"};
    if (i % 2 == 1) std::swap(words[1], words[3]);
    processes.push_back(start(words));
  }
  for (Process& process : processes) {
    const Output output = process.wait();
    EXPECT_EQ(output.status, 0) << output.err;
  }
}

TEST_F(NamesTest, CtrlCWhileWaitingForTheSecondLeavesNothing) {
  Process first = holder("b");
  for (const char* command : {"run", "acquire"}) {
    Words words = {command, "a", "b"};
    if (words[0] == "run") words.insert(words.end(), {"--", "true"});
    Process waiter = start(words);
    ASSERT_TRUE(eventually([&] { return waiters("b") == 1; }));
    EXPECT_EQ(holders("a"), 1U);
    waiter.kill(SIGINT);
    EXPECT_EQ(waiter.wait().status, 130);
    EXPECT_EQ(holders("a"), 0U);
    EXPECT_EQ(waiters("b"), 0U);
  }
}

TEST_F(NamesTest, TheLossOfOneEndsTheCommandAndGivesTheOthersBack) {
  for (const char* lost : {"a", "b", "c"}) {
    Process process =
        start({"run", "a", "b", "c", "--ttl", "2s", "--", "sh", "-c", "echo up; exec sleep 600"});
    ASSERT_TRUE(eventually([&] { return process.out() == "up\n"; })) << process.err();
    ASSERT_EQ(run({"break", lost, "--token", std::to_string(token(lost))}).status, 0);
    const Output output = process.wait();
    EXPECT_EQ(output.status, 76);
    EXPECT_NE(output.err.find("lost the lock '" + std::string(lost) + "'"), std::string::npos)
        << output.err;
    for (const char* name : {"a", "b", "c"}) EXPECT_EQ(holders(name), 0U) << name;
  }
}

TEST_F(NamesTest, AllAreRenewedWhileTheCommandRuns) {
  const Output output = run({"run", "a", "b", "c", "--ttl", "600ms", "--", "sleep", "3"});
  EXPECT_EQ(output.status, 0) << output.err;
}

// The first would expire while it waits for the second.
TEST_F(NamesTest, WhatItHasIsRenewedWhileItWaitsForTheRest) {
  Process first = holder("b");
  Process both = start({"acquire", "a", "b", "--ttl", "800ms"});
  ASSERT_TRUE(eventually([&] { return waiters("b") == 1; }));
  const std::uint64_t before = token("a");
  EXPECT_EQ(run({"acquire", "a", "--wait", "2s"}).status, 75);
  EXPECT_EQ(token("a"), before);
  first.kill(SIGTERM);
  EXPECT_EQ(both.wait().status, 0);
}

TEST_F(NamesTest, AcquirePrintsAHandleForEachInTheOrderOfTheNames) {
  const Output output = run({"acquire", "b", "a", "--ttl", "60s"});
  ASSERT_EQ(output.status, 0) << output.err;
  const std::vector<std::string> handles = handles_of(output.out);
  ASSERT_EQ(handles.size(), 2U);
  EXPECT_EQ(run({"release", handles[0]}).status, 0);
  EXPECT_EQ(holders("b"), 0U);
  EXPECT_EQ(holders("a"), 1U);
}

TEST_F(NamesTest, HandlesAreRenewedAndReleasedAsAWhole) {
  const std::string handles = run({"acquire", "a", "b", "--ttl", "60s"}).out;
  EXPECT_EQ(run({"renew", handles}).status, 0);
  EXPECT_EQ(run({"release", handles}).status, 0);
  EXPECT_EQ(holders("a") + holders("b"), 0U);
  const std::string more = run({"acquire", "a", "b", "--ttl", "60s"}).out;
  EXPECT_EQ(run({"release", "-"}, {.input = more}).status, 0);
  EXPECT_EQ(holders("a") + holders("b"), 0U);
  const std::vector<std::string> apart = handles_of(run({"acquire", "a", "b", "--ttl", "60s"}).out);
  ASSERT_EQ(apart.size(), 2U);
  EXPECT_EQ(run({"release", apart[1], apart[0]}).status, 0);
  EXPECT_EQ(holders("a") + holders("b"), 0U);
}

TEST_F(NamesTest, EachHandleIsReleasedWhateverBecomesOfTheOthers) {
  const std::string handles = run({"acquire", "a", "b", "--ttl", "60s"}).out;
  ASSERT_EQ(run({"release", handles_of(handles).at(0)}).status, 0);
  const auto outcome = json({"release", handles}, 76)["locks"];
  ASSERT_EQ(outcome.size(), 2U);
  EXPECT_EQ(outcome[0]["released"], false);
  EXPECT_EQ(outcome[0]["error"]["code"], "not_held");
  EXPECT_EQ(outcome[1]["released"], true);
  EXPECT_EQ(holders("b"), 0U);
}

TEST_F(NamesTest, OneWordThatIsNoHandleLeavesAllUntouched) {
  const std::string handles = run({"acquire", "a", "b", "--ttl", "60s"}).out;
  EXPECT_EQ(run({"release", handles + " nonsense"}).status, 64);
  EXPECT_EQ(run({"release", " "}).status, 64);
  EXPECT_EQ(holders("a") + holders("b"), 2U);
}

TEST_F(NamesTest, JsonHasThemAll) {
  const auto ran = json({"run", "b", "a", "--", "true"});
  ASSERT_EQ(ran["locks"].size(), 2U) << ran;
  EXPECT_EQ(ran["locks"][0]["name"], "b");
  EXPECT_GT(ran["locks"][1]["token"], 0);
  EXPECT_FALSE(ran.contains("token"));
  const auto one = json({"run", "b", "--", "true"});
  EXPECT_EQ(one["name"], "b");
  EXPECT_EQ(one["token"], one["locks"][0]["token"]);
  const auto taken = json({"acquire", "b", "a"});
  ASSERT_EQ(taken["locks"].size(), 2U) << taken;
  EXPECT_EQ(taken["locks"][1]["name"], "a");
  EXPECT_TRUE(taken["locks"][1].contains("handle"));
}

TEST_F(NamesTest, TheOneWhoWaitsIsToldForWhichOfThem) {
  Process first =
      start({"run", "b", "--label", "alice", "--", "sh", "-c", "echo up; exec sleep 600"});
  ASSERT_TRUE(eventually([&] { return first.out() == "up\n"; })) << first.err();
  Pty pty;
  Process waiter = start_plain(
      {HOLDFAST_BINARY, "--on", url(), "run", "a", "b", "c", "--wait", "60s", "--", "true"},
      {.environment = {{"TERM", "xterm"}}, .terminal = pty.name()});
  EXPECT_TRUE(pty.sees("waiting for 'b', held by alice since ")) << pty.screen();
  waiter.kill(SIGTERM);
  waiter.wait();
}

TEST_F(NamesTest, ARunThatWouldWaitForItselfForOneOfThemIsRefused) {
  const std::string inner = std::string(HOLDFAST_BINARY) + " --on " + url() + " run ";
  const Output refused = run({"run", "a", "b", "-c", inner + "c b -- echo inside; echo status-$?"});
  EXPECT_EQ(refused.out, "status-64\n") << refused.err;
  EXPECT_NE(refused.err.find("'b' is held by"), std::string::npos) << refused.err;
}

TEST_F(NamesTest, ReenterTakesTheRestAndTellsAllTokens) {
  const std::string inner = std::string(HOLDFAST_BINARY) + " --on " + url() + " run ";
  const Output output = run({"run", "a", "b", "-c",
                             "echo $HOLDFAST_TOKEN_2; " + inner +
                                 "c b --reenter -- sh -c 'echo $HOLDFAST_TOKEN_2; echo "
                                 "$HOLDFAST_NAME_1 $HOLDFAST_NAME_2; " +
                                 HOLDFAST_BINARY + " --on " + url() + " ls --names'"});
  ASSERT_EQ(output.status, 0) << output.err;
  std::istringstream lines(output.out);
  std::string outside;
  std::string inside;
  lines >> outside >> inside;
  EXPECT_EQ(outside, inside) << output.out;
  EXPECT_NE(output.out.find("c b\na\nb\nc\n"), std::string::npos) << output.out;
}

// The variables of the run between must not be taken for those of the lock that is entered again.
TEST_F(NamesTest, ReenterTellsTheTokenOfTheLockThatItEnters) {
  const std::string base = std::string(HOLDFAST_BINARY) + " --on " + url() + " run ";
  const Output output = run({"run", "a", "-c",
                             "echo $HOLDFAST_TOKEN; " + base + "b z -- " + base +
                                 "a --reenter -- sh -c 'echo $HOLDFAST_TOKEN; echo $HOLDFAST_NAME "
                                 "${HOLDFAST_NAME_2-none}'"});
  ASSERT_EQ(output.status, 0) << output.err;
  std::istringstream lines(output.out);
  std::string outside;
  std::string inside;
  lines >> outside >> inside;
  EXPECT_EQ(outside, inside) << output.out;
  EXPECT_TRUE(output.out.ends_with("\na none\n")) << output.out;
}

TEST_F(NamesTest, ASharedLockAboveIsNotEnteredAsAnExclusiveOne) {
  const std::string inner = std::string(HOLDFAST_BINARY) + " --on " + url() + " run a --reenter ";
  const Output refused = run({"run", "a", "-s", "-c", inner + "-- echo inside"});
  EXPECT_EQ(refused.status, 64);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(run({"run", "a", "-s", "-c", inner + "-s -- echo inside"}).out, "inside\n");
  EXPECT_EQ(run({"run", "a", "-c", inner + "-s -- echo inside"}).out, "inside\n");
}

TEST_F(NamesTest, ACommandWithoutDashesIsNotTakenForNames) {
  for (const Words& words : {Words{"run", "x", "true"}, Words{"run", "x", "bash", "-c", "true"},
                             Words{"run", "x", "/bin/sh", "-c", "true"}}) {
    const Output refused = run(words);
    EXPECT_EQ(refused.status, 64);
    EXPECT_NE(refused.err.find("put -- before the command"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(run({"run", "x", "y", "-c", "echo $HOLDFAST_NAME_2"}).out, "y\n");
}

TEST_F(NamesTest, TooManyNamesAreRefused) {
  Words words = {"run"};
  for (int i = 0; i < 65; ++i) words.push_back("name" + std::to_string(i));
  words.insert(words.end(), {"--", "true"});
  EXPECT_EQ(run(words).status, 64);
  words.erase(words.begin() + 1);
  EXPECT_EQ(run(words).status, 0);
}

}  // namespace
}  // namespace holdfast::test
