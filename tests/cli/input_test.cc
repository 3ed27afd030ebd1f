// Bad input: each gets a clear message and the right status, and no lock is taken.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "cli_fixture.h"

namespace holdfast::test {
namespace {

class InputTest : public CliTest {
 protected:
  // Runs it as text and as JSON: the same status; the message has `hint` in it.
  void expect_refused(const Words& words, int status, const std::string& hint) const {
    SCOPED_TRACE(testing::PrintToString(words).substr(0, 300));
    const Output text = run(words);
    EXPECT_EQ(text.status, status) << text.err;
    EXPECT_EQ(text.out, "");
    EXPECT_NE(text.err.find(hint), std::string::npos) << "no '" << hint << "' in: " << text.err;
    const auto object = json(words, status);
    EXPECT_TRUE(object.contains("error")) << object;
    EXPECT_NE(object["error"]["message"].get<std::string>().find(hint), std::string::npos)
        << object;
    EXPECT_TRUE(object["error"]["code"].is_string());
  }
  static Words run_true(Words words) {
    words.insert(words.begin(), "run");
    words.insert(words.end(), {"--", "true"});
    return words;
  }
};

TEST_F(InputTest, DurationsThatAreNone) {
  struct Case {
    const char* text;
    const char* hint;
  };
  for (const Case& wrong :
       {Case{"0", "zero"}, Case{"0s", "zero"}, Case{"-1s", "negative"}, Case{"1000000h", "720h"},
        Case{"99999999999999999999s", "720h"}, Case{"abc", "not a duration"}, Case{"10", "no unit"},
        Case{"1.5s", "not a duration"}, Case{"10 s", "not a duration"},
        Case{"10days", "not a duration"}, Case{"s", "not a duration"}}) {
    expect_refused(run_true({"x", std::string("--ttl=") + wrong.text}), 64, wrong.hint);
    expect_refused(run_true({"x", std::string("--wait=") + wrong.text}), 64, wrong.hint);
  }
  expect_refused({"acquire", "x", "--ttl", "0s"}, 64, "zero");
  expect_refused(run_true({"x", "--ttl="}), 64, "--ttl");
}

TEST_F(InputTest, NamesThatAreNone) {
  const std::string long_name(20'000, 'n');
  for (const std::string& name : {std::string(), long_name}) {
    expect_refused(run_true({name}), 64, "name");
    expect_refused({"acquire", name}, 64, "name");
    expect_refused({"show", name}, 64, "name");
    expect_refused({"break", name, "--token", "1"}, 64, "name");
  }
}

TEST_F(InputTest, NamesOfAnyBytesWork) {
  for (const std::string& name :
       {std::string("line\nbreak"), std::string("a/b/../c"), std::string("{tag}{"),
        std::string("{}"), std::string("[a,b]"), std::string("a,b"), std::string(" blank "),
        std::string("\xff\xfe\x01"), std::string("h\xc3\xa9!"),
        std::string("'; drop table locks; --"), std::string("%s%n"), std::string(10'000, 'n')}) {
    SCOPED_TRACE(name.substr(0, 40));
    const Output output = run({"run", name, "--", "sh", "-c", "printf %s \"$HOLDFAST_NAME\""});
    EXPECT_EQ(output.status, 0) << output.err;
    EXPECT_EQ(output.out, name);
    const auto shown = json({"show", name});
    EXPECT_EQ(shown.contains("name_hex"), shown["name"] != name) << shown;
  }
  EXPECT_EQ(json({"show", "\xff\xfe\x01"})["name_hex"], "fffe01");
  EXPECT_FALSE(json({"show", "h\xc3\xa9"}).contains("name_hex"));
  const std::string whole(300, 'n');
  EXPECT_EQ(json({"show", whole})["name"], whole);
}

// A script whose variable is unset.
TEST_F(InputTest, AnEmptyValueIsNoDefault) {
  const Output output = run_bare({"--on", "", "run", "x", "--", "true"});
  EXPECT_EQ(output.status, 64);
  EXPECT_NE(output.err.find("--on is empty"), std::string::npos) << output.err;
  expect_refused({"run", "x", "--wait", "", "--", "true"}, 64, "--wait");
}

TEST_F(InputTest, CommandLinesThatMakeNoSense) {
  expect_refused({}, 64, "no command");
  expect_refused({"fly"}, 64, "fly");
  expect_refused({"run"}, 64, "NAME");
  expect_refused({"run", "x"}, 64, "no command");
  expect_refused({"run", "x", "--"}, 64, "no command");
  expect_refused({"run", "x", "true"}, 64, "put -- before the command");
  expect_refused(run_true({"x", "--wait", "1s", "--no-wait"}), 64, "--wait");
  expect_refused(run_true({"x", "--shared", "--permits", "2"}), 64, "--shared");
  expect_refused(run_true({"x", "--permits", "0"}), 64, "--permits");
  expect_refused(run_true({"x", "--permits", "many"}), 64, "--permits");
  expect_refused(run_true({"x", "--ttl"}), 64, "--ttl");
  expect_refused(run_true({"x", "--nonsense"}), 64, "--nonsense");
  expect_refused({"break", "x", "--token", "abc"}, 64, "--token");
  expect_refused({"bench", "--mode", "upside-down"}, 64, "upside-down");
  expect_refused({"bench", "--workers", "0"}, 64, "--workers");
  expect_refused({"bench", "--in-flight", "2", "--hold", "1ms"}, 64, "--hold");
}

TEST_F(InputTest, AnotherNumberOfPermitsIsRefused) {
  ASSERT_EQ(run({"acquire", "x", "--permits", "3"}).status, 0);
  expect_refused({"acquire", "x", "--permits", "4"}, 64, "3");
}

TEST_F(InputTest, UrlsThatLeadNowhere) {
  const auto status_on = [](const std::string& url) { return run_bare({"--on", url, "ls"}); };
  for (const char* url : {"nonsense://x", "no-url-at-all", "sqlite://", "://"}) {
    const Output output = status_on(url);
    EXPECT_EQ(output.status, 64) << url << ": " << output.err;
    EXPECT_EQ(output.err.substr(0, 10), "holdfast: ") << output.err;
  }
  EXPECT_EQ(status_on("@" + path("missing")).status, 78);
  EXPECT_EQ(status_on("@" + directory_).status, 78);
  std::ofstream(path("empty")) << "\n";
  EXPECT_EQ(status_on("@" + path("empty")).status, 78);
  EXPECT_EQ(status_on("sqlite://" + path("no/such/directory/locks.db")).status, 78);
}

TEST_F(InputTest, AUrlCanComeFromAFileOrTheEnvironment) {
  std::ofstream(path("url")) << "  " << url() << " \nsecond line\n";
  EXPECT_EQ(run_bare({"--on", "@" + path("url"), "run", "x", "--", "true"}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(path("locks.db")));
  EXPECT_EQ(run_bare({"ls"}, {.environment = {{"HOLDFAST_URL", "@" + path("url")}}}).status, 0);
  // --on wins over the environment, and may follow the command.
  EXPECT_EQ(run_bare({"ls", "--on", url()}, {.environment = {{"HOLDFAST_URL", "bad://"}}}).status,
            0);
}

TEST_F(InputTest, TheDefaultIsAFileOfOnesOwn) {
  const Output output = run_bare({"run", "x", "--", "true"},
                                 {.environment = {{"HOME", directory_}, {"XDG_STATE_HOME", ""}}});
  EXPECT_EQ(output.status, 0) << output.err;
  struct stat file{};
  ASSERT_EQ(stat(path(".local/state/holdfast/locks.db").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0600U);
}

TEST_F(InputTest, ACorruptDatabaseIsAConfigurationError) {
  std::ofstream(path("locks.db")) << std::string(10'000, 'z');
  expect_refused(run_true({"x"}), 78, "locks.db");
  expect_refused({"ls"}, 78, "locks.db");
}

TEST_F(InputTest, AnUnusableDatabaseIsAConfigurationError) {
  ASSERT_EQ(run(run_true({"x"})).status, 0);
  for (const mode_t mode : {0000, 0444}) {
    chmod(path("locks.db").c_str(), mode);
    chmod(directory_.c_str(), 0555);
    Words words = run_true({"x"});
    const Output output = run(words, {.as_nobody = geteuid() == 0});
    chmod(directory_.c_str(), 0755);
    if (output.status == 97) GTEST_SKIP() << "the binary is not accessible to user nobody";
    EXPECT_EQ(output.status, 78) << output.err;
    EXPECT_NE(output.err.find("locks.db"), std::string::npos) << output.err;
  }
}

}  // namespace
}  // namespace holdfast::test
