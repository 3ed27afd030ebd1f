#include "top/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "top/locks_testing.h"

namespace holdfast::cli::top {
namespace {

using testing::kNowMs;
using testing::Made;
using testing::show;

class ViewTest : public ::testing::Test {
 protected:
  ViewTest() {
    show(sight_, 0,
         {{.name = "backup/nightly",
           .token = 41,
           .held_ms = 65'000,
           .waits_ms = {12'000, 3000},
           .label = "alice@db1 pid 812: make",
           .left_ms = 21'000},
          {.name = "\x1b[2J\u202e" + std::string(16'000, 'x'), .token = 42}});
    browser_.refresh();
  }

  std::vector<std::string> drawn(Size size, Charset charset = Charset::utf8) {
    std::vector<std::string> texts;
    const Frame frame = draw(browser_, {size, charset, kNowMs});
    EXPECT_EQ(frame.lines.size(), static_cast<std::size_t>(size.rows));
    for (const Line& line : frame.lines) {
      EXPECT_EQ(line.columns(), size.columns);
      texts.push_back(line.text());
    }
    return texts;
  }
  static bool any_has(const std::vector<std::string>& texts, const std::string& part) {
    return std::ranges::any_of(
        texts, [&](const std::string& text) { return text.find(part) != std::string::npos; });
  }
  void press(Press key) { browser_.press({key, {}}); }
  void type(const std::string& text) {
    for (const char c : text) browser_.press({Press::text, std::string(1, c)});
  }

  Sight sight_{{"redis", "postgres"}};
  Browser browser_{sight_, {}, false};
};

TEST_F(ViewTest, AWideScreenHasEverything) {
  const auto lines = drawn({160, 12});
  EXPECT_TRUE(lines[0].starts_with("holdfast top 2 locks, 2 waiting; by waiters")) << lines[0];
  for (const char* part : {"backup/nightly", "redis", " 2 ", "12s", "65s", "21s", "████████", "41",
                           "exclusive", "alice@db1 pid 812: make"})
    EXPECT_NE(lines[2].find(part), std::string::npos) << part << " in " << lines[2];
  EXPECT_TRUE(any_has(lines, "\\x1B[2J\\xE2\\x80\\xAExxx"));
}

TEST_F(ViewTest, ANarrowScreenHasNamesAndWaiters) {
  const auto lines = drawn({40, 10});
  EXPECT_EQ(lines[2], "redis     backup/nightly         2   21s");
  EXPECT_EQ(drawn({20, 10})[2], "backup/nightly     2");
}

// No size, key or charset breaks a row, leaves its columns, or shows a byte that acts on a terminal.
TEST_F(ViewTest, AnySizeGivesAFrameOfThatSize) {
  sight_.failed(1, Failure(Code::unreachable, "cannot connect"));
  const std::vector<Press> keys = {Press::down, Press::enter, Press::escape, Press::page_down};
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const Size size{static_cast<int>(1 + random() % 130), static_cast<int>(1 + random() % 30)};
    if (random() % 2) {
      press(keys[random() % keys.size()]);
    } else {
      type(std::string(1, "nslab/4?e"[random() % 9]));
    }
    for (const std::string& text : drawn(size, random() % 2 ? Charset::utf8 : Charset::ascii)) {
      EXPECT_TRUE(std::ranges::none_of(text, [](char c) { return c >= 0 && c < ' '; }))
          << "seed " << seed << ": " << text;
      EXPECT_EQ(text.find("\u202e"), std::string::npos) << "seed " << seed;
    }
  }
}

TEST_F(ViewTest, AsciiIsAscii) {
  press(Press::enter);
  for (const std::string& text : drawn({80, 24}, Charset::ascii))
    EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c > 0; })) << text;
}

TEST_F(ViewTest, OneLockHasItsHoldersWaitersAndHistory) {
  show(sight_, 0,
       {{.name = "backup/nightly", .token = 43, .held_ms = 0, .label = "bob", .left_ms = 30'000}});
  browser_.refresh();
  press(Press::enter);
  const auto lines = drawn({80, 24});
  EXPECT_TRUE(lines[1].starts_with("redis  backup/nightly")) << lines[1];
  EXPECT_TRUE(any_has(lines, "  bob"));
  EXPECT_TRUE(any_has(lines, "████████ 30s left, token 43, exclusive, held 0.0s"));
  EXPECT_TRUE(any_has(lines, "handed over to bob, token 43"));
  EXPECT_TRUE(any_has(lines, "released by alice@db1 pid 812: make, token 41, held 65s"));
  show(sight_, 0, {});
  browser_.refresh();
  EXPECT_TRUE(drawn({80, 24})[1].ends_with("free"));
}

TEST_F(ViewTest, ALockWithManyWaitersIsScrolled) {
  show(sight_, 0, {{.name = "busy", .token = 1, .waits_ms = std::vector<long long>(50, 1000)}});
  browser_.refresh();
  press(Press::enter);
  EXPECT_FALSE(any_has(drawn({80, 10}), "waiter-49"));
  press(Press::end);
  const auto lines = drawn({80, 10});
  EXPECT_NE(lines[8].find("granted to app"), std::string::npos) << lines[8];
  press(Press::home);
  EXPECT_TRUE(any_has(drawn({80, 10}), "HOLDERS"));
}

TEST_F(ViewTest, AnEngineThatDoesNotAnswerIsALineAndItsLocksStayGray) {
  sight_.failed(0, Failure(Code::unreachable, "connection refused"));
  const auto lines = drawn({80, 10});
  EXPECT_EQ(lines[1], "redis: connection refused; last seen 0.0s ago");
  EXPECT_TRUE(any_has(lines, "backup/nightly"));
}

TEST_F(ViewTest, AnEngineThatIsSilentIsToldBeforeItFails) {
  sight_.asked(1, kNowMs - 1000);
  EXPECT_FALSE(any_has(drawn({80, 10}), "no answer"));
  sight_.asked(1, kNowMs - 3000);
  EXPECT_EQ(drawn({80, 10})[1], "postgres: no answer for 3.0s");
}

TEST_F(ViewTest, WhatIsTypedIsOnTheNarrowestScreen) {
  type("/nigh");
  Frame frame = draw(browser_, {{20, 2}, Charset::utf8, kNowMs});
  EXPECT_EQ(frame.lines.back().text(), "/nigh");
  EXPECT_EQ(frame.cursor->column, 5);
  press(Press::escape);
  type("b4");
  frame = draw(browser_, {{80, 10}, Charset::utf8, kNowMs});
  EXPECT_TRUE(frame.lines.back().text().starts_with(
      "break by token: 4  (type 41, Enter: takes backup/nightly from alice@db1 pid 812"))
      << frame.lines.back().text();
  EXPECT_EQ(frame.cursor->column, 17);
}

TEST_F(ViewTest, HelpSaysHowToLeaveIt) {
  type("?");
  EXPECT_TRUE(any_has(drawn({80, 24}), "Enter             one lock"));
  EXPECT_EQ(drawn({40, 10})[9], "any key goes back");
}

TEST_F(ViewTest, AnEmptyListSaysWhy) {
  type("/zzz");
  EXPECT_TRUE(any_has(drawn({80, 10}), "nothing matches"));
  Sight empty({"redis"});
  Browser browser(empty, {}, false);
  const Canvas canvas{{80, 10}, Charset::utf8, kNowMs};
  EXPECT_EQ(draw(browser, canvas).lines[2].text(), "looking");
  empty.failed(0, Failure(Code::unreachable, "gone"));
  EXPECT_EQ(draw(browser, canvas).lines[3].text(), "no engine answers");
  show(empty, 0, {});
  EXPECT_EQ(draw(browser, canvas).lines[2].text(), "nobody holds a lock or waits for one");
}

}  // namespace
}  // namespace holdfast::cli::top
