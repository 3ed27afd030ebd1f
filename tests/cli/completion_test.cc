// Shell completion: bash, zsh and fish offer the names of locks, and no name does anything.
#include <filesystem>
#include <fstream>
#include <regex>

#include "cli_fixture.h"
#include "hostile.h"
#include "pty.h"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCompletions = HOLDFAST_SOURCE_DIR "/cli/completions/";

class CompletionTest : public CliTest {
 protected:
  // A missing shell is a failure: a test that is left out shows nothing.
  static void require(const std::string& shell) {
    const Output found = start_plain({"sh", "-c", "command -v " + shell}).wait();
    ASSERT_EQ(found.status, 0) << shell << " is not installed: apt-get install " << shell
                               << " (scripts/test does it)";
  }
  void hold(const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
      const Output output = run({"acquire", "--ttl", "10m", "--", name});
      ASSERT_EQ(output.status, 0) << name << ": " << output.err;
    }
  }
  std::map<std::string, std::string> environment() const {
    const std::string binaries = fs::path(HOLDFAST_BINARY).parent_path();
    return {
        {"HOLDFAST_URL", url()},  {"HOME", directory_},    {"PATH", binaries + ":/usr/bin:/bin"},
        {"TERM", "dumb"},         {"LC_ALL", "C.UTF-8"},   {"PS1", "> "},
        {"INPUTRC", "/dev/null"}, {"XDG_CONFIG_HOME", ""}, {"XDG_DATA_HOME", ""}};
  }
  bool bait_taken() const { return fs::exists(path("bait")); }
};

TEST_F(CompletionTest, NamesAreOnePrintableLineEach) {
  hold(all_hostile());
  const Output output = run({"ls", "--names"});
  ASSERT_EQ(output.status, 0) << output.err;
  EXPECT_TRUE(is_harmless(output.out)) << output.out;
  std::istringstream lines(output.out);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) names.push_back(line);
  std::vector<std::string> expected = kMeaningful;
  std::ranges::sort(expected);
  EXPECT_EQ(names, expected);
}

// In each of the three quotings, what bash would insert is evaluated, as it is when the user presses
// Enter: it must be one word, and the name.
TEST_F(CompletionTest, WhatBashInsertsIsTheName) {
  require("bash");
  hold(all_hostile());
  std::ofstream(path("check")) << "source " << kCompletions << R"(holdfast.bash
complete_after() {
  COMP_LINE="holdfast show $1" COMP_POINT=$((14 + ${#1})) COMP_WORDS=(holdfast show "$1") COMP_CWORD=2
  _holdfast holdfast "$1" show
}
for open in '' \' \"; do
  complete_after "$open"
  echo "offered ${#COMPREPLY[@]}" >&2
  for text in "${COMPREPLY[@]}"; do
    eval "set -- $open$text$open"
    [[ $# == 1 ]] || echo "several words: $text"
    printf '%s\n' "$1" >>"found$open"
  done
done
)";
  const Output output = start_plain({"sh", "-c", "cd '" + directory_ + "' && exec bash check"},
                                    {.environment = environment()})
                            .wait();
  EXPECT_EQ(output.out, "");
  const std::string names = run({"ls", "--names"}).out;
  EXPECT_EQ(read_all(path("found")), names);
  EXPECT_EQ(read_all(path("found'")), names);
  // An ! cannot be quoted in double quotes.
  std::istringstream lines(names);
  std::string without;
  for (std::string line; std::getline(lines, line);) {
    if (line.find('!') == std::string::npos) without += line + "\n";
  }
  EXPECT_EQ(read_all(path("found\"")), without);
  EXPECT_FALSE(bait_taken()) << "a name was evaluated";
}

TEST_F(CompletionTest, FishOffersTheNames) {
  require("fish");
  hold(all_hostile());
  const Output output =
      start_plain({"sh", "-c",
                   "cd '" + directory_ + "' && exec fish --no-config -c 'source " + kCompletions +
                       "holdfast.fish; complete -C \"holdfast show \"'"},
                  {.environment = environment()})
          .wait();
  for (const std::string& name : kMeaningful) {
    EXPECT_NE(("\n" + output.out).find("\n" + name + "\n"), std::string::npos)
        << name << " is not among\n"
        << output.out << output.err;
  }
  EXPECT_TRUE(is_harmless(output.out)) << output.out;
  EXPECT_FALSE(bait_taken()) << "a name was evaluated";
}

// Those of a command that is a program of its own, too.
TEST_F(CompletionTest, OptionsOfServeAreOffered) {
  require("bash");
  require("fish");
  const std::string help = run({"serve", "--help"}).out;
  std::ofstream(path("check")) << "source " << kCompletions << R"(holdfast.bash
COMP_LINE="holdfast serve --" COMP_POINT=17 COMP_WORDS=(holdfast serve --) COMP_CWORD=2
_holdfast holdfast -- serve
printf '%s\n' "${COMPREPLY[@]}"
)";
  const std::string by_bash =
      start_plain({"bash", path("check")}, {.environment = environment()}).wait().out;
  const std::string by_fish = start_plain({"fish", "--no-config", "-c",
                                           std::string("source ") + kCompletions +
                                               "holdfast.fish; complete -C 'holdfast serve --'"},
                                          {.environment = environment()})
                                  .wait()
                                  .out;
  const std::string of_zsh = read_all(std::string(kCompletions) + "holdfast.zsh");
  const std::regex option("(^|[ ,])(--[a-z-]+)");
  std::size_t found = 0;
  for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at, ++found) {
    const std::string name = (*at)[2];
    if (help.find("\n  " + name + " ") == std::string::npos) continue;  // in an example
    EXPECT_NE(by_bash.find(name + "\n"), std::string::npos) << name << "\n" << by_bash;
    EXPECT_TRUE(std::regex_search(by_fish, std::regex("(^|\n)" + name + "\\s"))) << name << by_fish;
    EXPECT_NE(of_zsh.find("--" + name.substr(2) + "["), std::string::npos) << name;
  }
  EXPECT_GT(found, 6U) << help;
}

// A person at a terminal types the beginning of a name, TAB and Enter.
class InteractiveCompletionTest : public CompletionTest,
                                  public testing::WithParamInterface<const char*> {
 protected:
  // fish shows no list on a dumb terminal.
  void start_shell(const std::string& kind = "dumb") {
    const std::string shell = GetParam();
    std::string setup = "source " + std::string(kCompletions) + "holdfast." + shell;
    Words words{shell, "--norc", "--noprofile", "-i"};
    if (shell == "fish") words = {shell, "--no-config", "-i"};
    if (shell == "zsh") {
      words = {shell, "-f", "-i"};
      fs::create_directory(path("functions"));
      fs::copy_file(std::string(kCompletions) + "holdfast.zsh", path("functions/_holdfast"));
      setup = "fpath=(" + path("functions") + " $fpath); autoload -Uz compinit; compinit -D -u";
    }
    std::map<std::string, std::string> variables = environment();
    variables["TERM"] = kind;
    shell_.emplace(start_plain(words, {.environment = variables, .terminal = pty_.name()}));
    const std::string two = shell == "fish" ? "(math 1 + 1)" : "$((1 + 1))";
    pty_.type("cd " + directory_ + "\n" + setup + "\necho ready-" + two + "\n");
    ASSERT_TRUE(pty_.sees("ready-2")) << pty_.screen();
  }

  Pty pty_;
  std::optional<Process> shell_;
};

TEST_P(InteractiveCompletionTest, ANameIsInsertedAsAWordAndNeverRun) {
  require(GetParam());
  struct Case {
    std::string name;
    std::string typed;
  };
  const std::vector<Case> cases = {{"sub$(>bait)end0", "sub"},
                                   {"tick`>bait`end1", "tick"},
                                   {"semi;>bait;#end2", "semi"},
                                   {"quo'te\"s and blanks end3", "quo"},
                                   {"col:on=at@$(>bait)end4", "col:"},
                                   {"single$(>bait)'x'end5", "'sing"},
                                   {"double$(>bait)`x`\"$HOME\"end6", "\"doub"},
                                   {"'\";>bait;end7", "\\'"},
                                   {"glob*?[a]{b,c}end8", "glob"},
                                   {"\\>bait\\end9", "'\\"}};
  std::vector<std::string> names = kUnprintable;
  for (const Case& each : cases) names.push_back(each.name);
  hold(names);
  start_shell();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    // fish's quotes know the escapes of \ and ' inside '…'.
    const bool escaped = std::string(GetParam()) == "fish" && cases[i].typed == "'\\";
    pty_.type("holdfast show " + (escaped ? std::string("'\\\\") : cases[i].typed) + "\t");
    ASSERT_TRUE(pty_.sees("end" + std::to_string(i))) << cases[i].name << "\n" << pty_.screen();
    pty_.type("\n");
    EXPECT_TRUE(pty_.sees(cases[i].name + ": held")) << cases[i].name << "\n" << pty_.screen();
  }
  EXPECT_FALSE(bait_taken()) << "a name was evaluated\n" << pty_.screen();
}

// The list of all that is possible, which shells print themselves.
TEST_P(InteractiveCompletionTest, TheListOfNamesIsHarmless) {
  require(GetParam());
  hold(all_hostile());
  start_shell("xterm");
  const std::size_t before = pty_.screen().size();
  pty_.type("holdfast show \t\t");
  ASSERT_TRUE(pty_.sees("script")) << pty_.screen();
  pty_.type(std::string(GetParam()) == "fish" ? "\x03" : "\x15");  // Drops the line.
  pty_.type(std::string("echo done-") +
            (std::string(GetParam()) == "fish" ? "(math 2 + 3)" : "$((2 + 3))") + "\n");
  ASSERT_TRUE(pty_.sees("done-5")) << pty_.screen();
  const std::string shown = pty_.screen().substr(before);
  for (const char* act : {"\x1b]0;title", "\x1b[31mred", "\xc2\x9b", "\u202e", "forged"}) {
    EXPECT_EQ(shown.find(act), std::string::npos) << act;
  }
  EXPECT_FALSE(bait_taken()) << "a name was evaluated\n" << shown;
}

INSTANTIATE_TEST_SUITE_P(Shells, InteractiveCompletionTest, testing::Values("bash", "zsh", "fish"),
                         [](const auto& shell) { return std::string(shell.param); });

}  // namespace
}  // namespace holdfast::test
