// acquire, renew, release, ls, show, break: locks for scripts.
#include <signal.h>

#include "cli_fixture.h"

namespace holdfast::test {
namespace {

class HandleTest : public CliTest {
 protected:
  std::string acquire(const Words& options) {
    Words words = {"acquire"};
    words.insert(words.end(), options.begin(), options.end());
    const Output output = run(words);
    EXPECT_EQ(output.status, 0) << output.err;
    return output.out.empty() ? "" : output.out.substr(0, output.out.size() - 1);
  }
};

TEST_F(HandleTest, AHandleOutlivesTheProcessThatTookIt) {
  const std::string handle = acquire({"x", "--ttl", "60s"});
  EXPECT_EQ(handle.find_first_of(" \n"), std::string::npos);
  EXPECT_EQ(run({"acquire", "x", "--no-wait"}).status, 75);
  EXPECT_EQ(run({"renew", handle}).status, 0);
  EXPECT_EQ(run({"release", handle}).status, 0);
  EXPECT_EQ(run({"acquire", "x", "--no-wait"}).status, 0);
}

TEST_F(HandleTest, ReleasingTwiceReturns76AndTouchesNobodyElse) {
  const std::string handle = acquire({"x"});
  ASSERT_EQ(run({"release", handle}).status, 0);
  const std::string successor = acquire({"x"});
  const Output again = run({"release", handle});
  EXPECT_EQ(again.status, 76);
  EXPECT_NE(again.err.find("x"), std::string::npos);
  EXPECT_EQ(run({"renew", handle}).status, 76);
  EXPECT_EQ(run({"renew", successor}).status, 0) << "the successor still holds it";
}

TEST_F(HandleTest, AnExpiredHandleIsNotHeldAnyMore) {
  const std::string handle = acquire({"x", "--ttl", "50ms"});
  acquire({"x", "--wait", "20s"});
  EXPECT_EQ(run({"renew", handle}).status, 76);
  EXPECT_EQ(run({"release", handle}).status, 76);
}

TEST_F(HandleTest, AHandleCanComeFromStandardInput) {
  const std::string handle = acquire({"x"});
  EXPECT_EQ(run({"release", "-"}, {.input = handle + "\n"}).status, 0);
}

TEST_F(HandleTest, WhatIsNoHandleIsRefused) {
  const std::string handle = acquire({"x"});
  for (const std::string& wrong :
       {std::string("nonsense"), std::string(" "), handle.substr(0, handle.size() / 2),
        handle + "0", std::string("hf1....."), std::string(100'000, 'a')}) {
    EXPECT_EQ(run({"release", wrong}).status, 64) << wrong.substr(0, 80);
  }
}

TEST_F(HandleTest, CtrlCWhileWaitingLeavesNothingBehind) {
  const std::string handle = acquire({"x", "--ttl", "60s"});
  Process waiter = start({"acquire", "x"});
  ASSERT_TRUE(eventually([&] { return json({"show", "x"})["waiters"].size() == 1; }));
  waiter.kill(SIGINT);
  EXPECT_EQ(waiter.wait().status, 130);
  EXPECT_EQ(json({"show", "x"})["waiters"].size(), 0U);
}

TEST_F(HandleTest, ListShowsHoldersAndCanBeNarrowed) {
  acquire({"jobs/a"});
  acquire({"jobs/b", "--shared"});
  acquire({"other", "--permits", "3"});
  const auto all = json({"ls"})["locks"];
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(json({"ls", "jobs/"})["locks"].size(), 2U);
  const auto other = json({"show", "other"});
  EXPECT_EQ(other["permits"], 3);
  EXPECT_EQ(other["holders"][0]["mode"], "permit");
  EXPECT_GT(other["holders"][0]["token"], 0);
  const Output text = run({"ls", "jobs/"});
  EXPECT_NE(text.out.find("jobs/a"), std::string::npos);
  EXPECT_EQ(text.out.find("other"), std::string::npos);
}

TEST_F(HandleTest, ALockNamedLikeACommandOrAnOptionIsALock) {
  for (const char* name : {"run", "ls", "bench", "release"}) {
    const std::string handle = acquire({name});
    EXPECT_EQ(json({"show", name})["name"], name);
    EXPECT_EQ(run({"release", handle}).status, 0);
  }
  const std::string handle = acquire({"--", "-x"});
  EXPECT_EQ(json({"show", "--", "-x"})["holders"].size(), 1U);
}

TEST_F(HandleTest, BreakIsACompareNeverBlind) {
  const std::string handle = acquire({"x"});
  const auto token = json({"show", "x"})["holders"][0]["token"].get<std::uint64_t>();
  const Output wrong = run({"break", "x", "--token", std::to_string(token + 1)});
  EXPECT_EQ(wrong.status, 76);
  EXPECT_FALSE(wrong.err.empty());
  EXPECT_EQ(run({"renew", handle}).status, 0);
  EXPECT_EQ(run({"break", "x", "--token", std::to_string(token)}).status, 0);
  EXPECT_EQ(run({"renew", handle}).status, 76);
  EXPECT_EQ(run({"break", "x"}).status, 64) << "without a token";
  EXPECT_EQ(run({"break", "x", "--token", "-1"}).status, 64);
}

TEST_F(HandleTest, AFreeLockIsShownAsFree) {
  const Output output = run({"show", "nobody-ever-took-it"});
  EXPECT_EQ(output.status, 0);
  EXPECT_NE(output.out.find("free"), std::string::npos);
  EXPECT_EQ(run({"ls"}).out, "");
}

}  // namespace
}  // namespace holdfast::test
