#include "top/browser.h"

#include <gtest/gtest.h>

#include "top/locks_testing.h"

namespace holdfast::cli::top {
namespace {

using testing::Made;
using testing::show;
using Names = std::vector<std::string>;

class BrowserTest : public ::testing::Test {
 protected:
  BrowserTest() {
    show(sight_, 0,
         {{.name = "quiet", .token = 41, .held_ms = 1000},
          {.name = "busy", .token = 42, .held_ms = 5000, .waits_ms = {100, 50}, .label = "Alice"},
          {.name = "old", .token = 43, .held_ms = 90'000, .waits_ms = {9000}}});
    show(sight_, 1, {{.name = "other", .token = 7, .held_ms = 2000, .owner = "job-7"}});
    browser_.refresh();
    browser_.fit(10);
  }

  Wish type(const std::string& text) {
    Wish wish;
    for (const char c : text) {
      const Wish now = browser_.press({Press::text, std::string(1, c)});
      if (now.breaking || now.quit) wish = now;
    }
    return wish;
  }
  Wish press(Press key) { return browser_.press({key, {}}); }
  Names names() const {
    Names names;
    for (const Row& row : browser_.rows()) names.push_back(row.lock->lock.name.bytes());
    return names;
  }
  std::string selected() const {
    return browser_.rows()[browser_.selected()].lock->lock.name.bytes();
  }

  Sight sight_{{"redis", "postgres"}};
  Browser browser_{sight_, {}, false};
};

TEST_F(BrowserTest, SortsByWaitersWaitAgeAndName) {
  EXPECT_EQ(names(), (Names{"busy", "old", "other", "quiet"}));
  type("l");
  EXPECT_EQ(names(), (Names{"old", "busy", "other", "quiet"}));
  type("a");
  EXPECT_EQ(names(), (Names{"old", "busy", "other", "quiet"}));
  type("n");
  EXPECT_EQ(names(), (Names{"busy", "old", "other", "quiet"}));
  type("s");
  EXPECT_EQ(browser_.choice().sort, Sort::waiters);
}

TEST_F(BrowserTest, FiltersByNameHolderWaiterOwnerOrToken) {
  const auto found = [&](const std::string& text) {
    type("/" + text);
    press(Press::enter);
    const Names matching = names();
    press(Press::escape);
    return matching;
  };
  EXPECT_EQ(found("QUI"), Names{"quiet"});
  EXPECT_EQ(found("alice"), Names{"busy"});
  EXPECT_EQ(found("43"), Names{"old"});
  EXPECT_EQ(found("job-7"), Names{"other"});
  EXPECT_EQ(found("waiter-1"), Names{"busy"});
  EXPECT_EQ(found("nothing"), Names{});
  EXPECT_EQ(names().size(), 4U);
}

TEST_F(BrowserTest, AFilterIsSeenWhileItIsTypedAndEscapeTakesItBack) {
  type("/ol");
  EXPECT_EQ(browser_.mode(), Browser::Mode::filter);
  EXPECT_EQ(names(), Names{"old"});
  press(Press::backspace);
  press(Press::backspace);
  EXPECT_EQ(names().size(), 4U);
  // Letters are text here, not commands.
  EXPECT_FALSE(type("q").quit);
  press(Press::escape);
  EXPECT_EQ(browser_.choice().filter, "");
  EXPECT_EQ(browser_.mode(), Browser::Mode::list);
}

TEST_F(BrowserTest, EnginesAreShownOneByOneAndThenAll) {
  type("e");
  EXPECT_EQ(names().size(), 3U);
  type("e");
  EXPECT_EQ(names(), Names{"other"});
  type("e");
  EXPECT_EQ(names().size(), 4U);
}

TEST_F(BrowserTest, TheSelectionStaysWithItsLock) {
  EXPECT_EQ(selected(), "busy");
  press(Press::down);
  EXPECT_EQ(selected(), "old");
  type("/l");
  EXPECT_EQ(selected(), "old") << "it is the only one that matches";
  press(Press::escape);
  // Others come, and go before it.
  show(sight_, 0,
       {{.name = "old", .token = 43}, {.name = "new", .token = 50, .waits_ms = {1, 1, 1}}});
  browser_.refresh();
  EXPECT_EQ(selected(), "old");
  // It is gone itself.
  show(sight_, 0, {});
  browser_.refresh();
  EXPECT_EQ(selected(), "other");
}

TEST_F(BrowserTest, AFirstRowThatNobodyHasChosenIsWhicheverIsFirst) {
  EXPECT_EQ(selected(), "busy");
  show(sight_, 0,
       {{.name = "hot", .token = 1, .waits_ms = {1, 1, 1}}, {.name = "busy", .token = 42}});
  browser_.refresh();
  EXPECT_EQ(selected(), "hot");
}

TEST_F(BrowserTest, TheSelectionIsOnTheScreen) {
  std::vector<Made> many;
  for (int i = 0; i < 100; ++i) many.push_back({.name = "lock-" + std::to_string(100 + i)});
  show(sight_, 0, many);
  browser_.refresh();
  browser_.fit(10);
  press(Press::page_down);
  browser_.fit(10);
  EXPECT_EQ(browser_.selected(), 10U);
  EXPECT_EQ(browser_.first_row(), 1U);
  press(Press::end);
  browser_.fit(10);
  EXPECT_EQ(browser_.first_row(), 91U);
  browser_.fit(3);
  EXPECT_EQ(browser_.first_row(), 98U);
  press(Press::home);
  browser_.fit(3);
  EXPECT_EQ(browser_.first_row(), 0U);
}

TEST_F(BrowserTest, OneLockIsOpenedEvenWhenItIsFreeAgain) {
  press(Press::enter);
  EXPECT_EQ(browser_.mode(), Browser::Mode::lock);
  show(sight_, 0, {});
  browser_.refresh();
  EXPECT_EQ(browser_.open_lock().name.bytes(), "busy");
  EXPECT_EQ(sight_.find(0, Name("busy")), nullptr);
  type("b");
  EXPECT_EQ(browser_.message(), "nobody holds it");
  press(Press::escape);
  EXPECT_EQ(browser_.mode(), Browser::Mode::list);
}

TEST_F(BrowserTest, NothingIsBrokenWithoutTheHoldersTokenTyped) {
  type("b");
  ASSERT_EQ(browser_.mode(), Browser::Mode::breaking);
  EXPECT_FALSE(press(Press::enter).breaking) << "nothing was typed";
  for (const char* wrong : {"41", "4", "420", "0", "99999999999999999999", "y"}) {
    EXPECT_FALSE(type(std::string("b") + wrong).breaking) << wrong;
    EXPECT_FALSE(press(Press::enter).breaking) << wrong;
    EXPECT_EQ(browser_.mode(), Browser::Mode::list);
  }
  type("b42");
  EXPECT_FALSE(press(Press::escape).breaking);
  type("b42");
  const Wish wish = press(Press::enter);
  ASSERT_TRUE(wish.breaking);
  EXPECT_EQ(wish.breaking->lock.name.bytes(), "busy");
  EXPECT_EQ(wish.breaking->token, Token(42));
}

// The lock below the question changes hands while it is asked: the token that was shown is still the one that is meant.
TEST_F(BrowserTest, TheQuestionStaysWithTheHolderThatItNamed) {
  type("b");
  show(sight_, 0,
       {{.name = "busy", .token = 44}, {.name = "hot", .token = 45, .waits_ms = {1, 2, 3}}});
  browser_.refresh();
  type("44");
  EXPECT_FALSE(press(Press::enter).breaking);
  Browser again(sight_, {}, false);
  EXPECT_EQ(again.rows()[0].lock->lock.name.bytes(), "hot");
}

TEST_F(BrowserTest, ReadOnlyBreaksNothing) {
  Browser browser(sight_, {}, true);
  browser.press({Press::text, "b"});
  EXPECT_EQ(browser.mode(), Browser::Mode::list);
}

TEST_F(BrowserTest, AnyKeyEndsHelpAndQQuits) {
  type("?");
  EXPECT_EQ(browser_.mode(), Browser::Mode::help);
  EXPECT_FALSE(type("q").quit);
  EXPECT_EQ(browser_.mode(), Browser::Mode::list);
  EXPECT_TRUE(type("q").quit);
}

TEST_F(BrowserTest, NoKeyNeedsALock) {
  Sight empty({"redis"});
  Browser browser(empty, {}, false);
  browser.fit(0);
  for (const Press press :
       {Press::up, Press::down, Press::page_down, Press::page_up, Press::home, Press::end,
        Press::enter, Press::escape, Press::left, Press::right, Press::backspace, Press::clear}) {
    browser.press({press, {}});
    browser.fit(5);
  }
  for (const char* letter : {"b", "e", "s", "/", "x", "\x7f"}) browser.press({Press::text, letter});
  EXPECT_TRUE(browser.rows().empty());
}

}  // namespace
}  // namespace holdfast::cli::top
