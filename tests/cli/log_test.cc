// The log of real commands: levels, both formats, wrong values, hostile names, and a standard error that nobody reads.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "cli_fixture.h"
#include "hostile.h"

namespace holdfast::test {
namespace {

using Json = nlohmann::json;

class CommandLogTest : public CliTest {
 protected:
  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
};

TEST_F(CommandLogTest, NothingIsLoggedUnlessItIsAskedFor) {
  EXPECT_EQ(run({"run", "x", "--", "true"}).err, "");
  EXPECT_EQ(run({"run", "x", "--", "true"}, {.environment = {{"HOLDFAST_LOG_FORMAT", "xml"}}}).err,
            "");
}

TEST_F(CommandLogTest, VerboseTellsEveryEventWithTheClaim) {
  for (const Words& words :
       {Words{"-v", "run", "x", "--", "true"}, Words{"run", "x", "--verbose", "--", "true"}}) {
    const Output output = run(words);
    EXPECT_EQ(output.status, 0);
    const std::vector<std::string> lines = lines_of(output.err);
    ASSERT_EQ(lines.size(), 4U) << output.err;
    EXPECT_NE(lines[0].find(" holdfast info connected engine=sqlite server="), std::string::npos);
    EXPECT_NE(lines[1].find(" holdfast debug wait engine=sqlite name=x mode=exclusive claim="),
              std::string::npos);
    EXPECT_NE(lines[2].find(" holdfast info granted engine=sqlite name=x"), std::string::npos);
    EXPECT_NE(lines[3].find(" holdfast info released engine=sqlite name=x"), std::string::npos);
    const auto claim = [](const std::string& line) { return line.substr(line.find("claim="), 38); };
    EXPECT_EQ(claim(lines[1]), claim(lines[3]));
  }
}

TEST_F(CommandLogTest, TheLevelDecides) {
  const auto events = [&](const char* level) {
    return lines_of(run({"run", "x", "--", "true"}, {.environment = {{"HOLDFAST_LOG", level}}}).err)
        .size();
  };
  EXPECT_EQ(events("warn"), 0U);
  EXPECT_EQ(events("info"), 3U);
  EXPECT_EQ(events("debug"), 4U);
}

TEST_F(CommandLogTest, JsonLinesOfHostileNamesAreAsciiAndWhole) {
  for (const std::string& name : all_hostile()) {
    const Output logged =
        run({"acquire", "-n", "--", name},
            {.environment = {{"HOLDFAST_LOG", "debug"}, {"HOLDFAST_LOG_FORMAT", "json"}}});
    EXPECT_EQ(logged.status, 0) << logged.err;
    EXPECT_TRUE(is_ascii(logged.err)) << logged.err;
    const std::vector<std::string> lines = lines_of(logged.err);
    EXPECT_GE(lines.size(), 3U);
    for (const std::string& line : lines) {
      const Json parsed = Json::parse(line, nullptr, false);
      ASSERT_TRUE(parsed.is_object()) << line;
      for (const char* key : {"time", "level", "event", "engine"})
        EXPECT_TRUE(parsed.contains(key)) << line;
      if (parsed.value("event", "") == "connected") continue;
      for (const char* key : {"name", "claim"}) EXPECT_TRUE(parsed.contains(key)) << line;
    }
    const Output text =
        run({"acquire", "-n", "--", name}, {.environment = {{"HOLDFAST_LOG", "debug"}}});
    EXPECT_EQ(text.status, 75);
    EXPECT_TRUE(is_harmless(text.err)) << text.err;
  }
}

TEST_F(CommandLogTest, WrongValuesEndTheCommandWithASentence) {
  const auto with = [&](std::map<std::string, std::string> environment) {
    return run({"run", "x", "--", "touch", path("ran")}, {.environment = std::move(environment)});
  };
  const Output level = with({{"HOLDFAST_LOG", "loud"}});
  EXPECT_EQ(level.status, 78);
  EXPECT_EQ(level.err, "holdfast: HOLDFAST_LOG is 'loud'; it can be error, warn, info or debug\n");
  EXPECT_EQ(with({{"HOLDFAST_LOG", "info"}, {"HOLDFAST_LOG_FORMAT", "xml"}}).status, 78);
  EXPECT_EQ(access(path("ran").c_str(), F_OK), -1);
}

TEST_F(CommandLogTest, NoPasswordIsLogged) {
  const Output output =
      run_bare({"-v", "--on", "redis://user:pa55word@127.0.0.1:1", "run", "x", "-n", "--", "true"});
  EXPECT_EQ(output.status, 69);
  EXPECT_NE(output.err.find("error refused engine=redis"), std::string::npos) << output.err;
  EXPECT_EQ(output.err.find("pa55word"), std::string::npos);
}

// A pipe that is full before the command begins: a write that waits would hang it.
TEST_F(CommandLogTest, AStandardErrorThatNobodyReadsHoldsUpNothing) {
  const std::string fifo = path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const int reader = open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  const std::string block(4096, 'x');
  while (write(reader, block.data(), block.size()) > 0) {
  }
  Process process = start_plain({"/bin/sh", "-c",
                                 std::string("exec " HOLDFAST_BINARY " --on ") + url() +
                                     " -v run x --ttl 1s -- sh -c 'sleep 3; echo done' 2>" + fifo});
  const Output output = process.wait();
  EXPECT_EQ(output.status, 0);
  EXPECT_EQ(output.out, "done\n");
  close(reader);
}

}  // namespace
}  // namespace holdfast::test
