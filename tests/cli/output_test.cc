// Output of the command: help and JSON. (Passwords: secrets_test.cc; hostile text: hostile_text_test.cc)
#include <regex>
#include <set>

#include "cli_fixture.h"

namespace holdfast::test {
namespace {

using OutputTest = CliTest;

constexpr const char* kCommands[] = {"run",   "acquire", "renew",   "release", "ls",    "show",
                                     "break", "doctor",  "engines", "schema",  "bench", "torture"};

TEST_F(OutputTest, EveryCommandHasHelpWithExamples) {
  for (const char* command : kCommands) {
    const Output output = run_bare({command, "--help"});
    EXPECT_EQ(output.status, 0);
    EXPECT_NE(output.out.find("Examples"), std::string::npos) << command;
    EXPECT_EQ(output.err, "");
  }
  const Output top = run_bare({"--help"});
  EXPECT_EQ(top.status, 0);
  EXPECT_NE(top.out.find("Examples"), std::string::npos);
  EXPECT_EQ(run_bare({"--version"}).out.substr(0, 9), "holdfast ");
}

// The words of a help text that begin with --.
std::set<std::string> options_in(const std::string& help) {
  std::set<std::string> options;
  const std::regex option("(^|[ ,])(--[a-z][a-z-]*)");
  for (std::sregex_iterator i(help.begin(), help.end(), option), end; i != end; ++i) {
    options.insert((*i)[2]);
  }
  return options;
}

TEST_F(OutputTest, ManPageAndCompletionsKnowEveryCommandAndOption) {
  const std::string source = HOLDFAST_SOURCE_DIR;
  std::string manual = read_all(source + "/docs/man/holdfast.1");
  std::erase(manual, '\\');
  for (const char* command : kCommands) {
    const std::string help = run_bare({command, "--help"}).out;
    for (const std::string& option : options_in(help.substr(0, help.find("Examples")))) {
      EXPECT_NE(manual.find(option), std::string::npos) << option << " in the manual page";
      for (const char* shell : {"bash", "zsh", "fish"}) {
        const std::string completion = read_all(source + "/cli/completions/holdfast." + shell);
        const std::string word = shell == std::string("fish") ? "-l " + option.substr(2) : option;
        EXPECT_NE(completion.find(command), std::string::npos) << command << " in " << shell;
        EXPECT_NE(completion.find(word), std::string::npos) << option << " in " << shell;
      }
    }
  }
}

TEST_F(OutputTest, EveryCommandSpeaksJson) {
  const auto ran = json({"run", "x", "--", "sh", "-c", "echo noise; exit 3"}, 3);
  EXPECT_EQ(ran["status"], 3);
  EXPECT_EQ(ran["name"], "x");
  EXPECT_GT(ran["token"], 0);
  const auto taken = json({"acquire", "x", "--ttl", "60s"});
  EXPECT_EQ(taken["ttl_ms"], 60'000);
  const std::string handle = taken["handle"];
  EXPECT_EQ(json({"renew", handle})["renewed"], true);
  EXPECT_EQ(json({"ls"})["locks"].size(), 1U);
  EXPECT_EQ(json({"show", "x"})["holders"].size(), 1U);
  EXPECT_EQ(json({"acquire", "x", "--no-wait"}, 75)["error"]["code"], "busy");
  EXPECT_EQ(json({"release", handle})["released"], true);
  EXPECT_EQ(json({"release", handle}, 76)["error"]["code"], "not_held");
  const auto second = json({"acquire", "x"});
  EXPECT_EQ(json({"break", "x", "--token", second["token"].dump()})["broken"], true);
  EXPECT_GE(json({"engines"})["engines"].size(), 1U);
  EXPECT_EQ(json({"run", "x", "--", "no-such-command"}, 127)["error"]["code"], "command_not_found");
  EXPECT_EQ(json({"run", "x", "--", "sh", "-c", "kill -9 $$"}, 137)["signal"], 9);
}

TEST_F(OutputTest, JsonCanBeAskedForAfterTheCommand) {
  const Output output = run({"ls", "--json"});
  EXPECT_FALSE(nlohmann::json::parse(output.out, nullptr, false).is_discarded()) << output.out;
}

TEST_F(OutputTest, EnginesAreATableForPeople) {
  const Output output = run_bare({"engines"});
  EXPECT_NE(output.out.find("sqlite"), std::string::npos);
  EXPECT_NE(output.out.find("EXCLUSION"), std::string::npos);
}

TEST_F(OutputTest, AFullDiskIsNoticed) {
  const Output output =
      start_plain({"sh", "-c", std::string(HOLDFAST_BINARY) + " engines > /dev/full"}).wait();
  EXPECT_EQ(output.status, 74);
  EXPECT_NE(output.err.find("output"), std::string::npos);
}

// Nobody has the key to that lock.
TEST_F(OutputTest, AHandleThatCannotBeWrittenIsGivenBack) {
  for (const std::string json : {"", " --json"}) {
    const std::string acquire =
        std::string(HOLDFAST_BINARY) + " --on " + url() + json + " acquire x > /dev/full";
    const Output output = start_plain({"sh", "-c", acquire}).wait();
    EXPECT_EQ(output.status, 74);
    EXPECT_NE(output.err.find("the lock is given back"), std::string::npos) << output.err;
    EXPECT_EQ(run({"run", "x", "--no-wait", "--", "true"}).status, 0);
  }
}

TEST_F(OutputTest, AHandleWhoseReaderHasGoneIsGivenBack) {
  const std::string pipe = path("pipe");
  const Output output =
      start_plain({"sh", "-c",
                   "mkfifo " + pipe + "; true < " + pipe + " & exec 3> " + pipe + "; wait; exec " +
                       HOLDFAST_BINARY + " --on " + url() + " acquire x >&3"})
          .wait();
  EXPECT_EQ(output.status, 74);
  EXPECT_NE(output.err.find("the lock is given back"), std::string::npos) << output.err;
  EXPECT_EQ(run({"run", "x", "--no-wait", "--", "true"}).status, 0);
}

}  // namespace
}  // namespace holdfast::test
