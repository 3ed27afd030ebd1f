#include "top/keys.h"

#include <gtest/gtest.h>

#include <random>

namespace holdfast::cli::top {
namespace {

std::vector<Press> presses(const std::vector<Key>& keys) {
  std::vector<Press> all;
  for (const Key& key : keys) all.push_back(key.press);
  return all;
}

std::vector<Press> typed(const std::string& bytes) { return presses(Keys().read(bytes)); }

using P = Press;

TEST(KeysTest, ArrowsComeInSeveralSpellings) {
  EXPECT_EQ(typed("\x1b[A\x1bOB\x1b[1;5C\x1b[D"), (std::vector{P::up, P::down, P::right, P::left}));
  EXPECT_EQ(typed("\x1b[5~\x1b[6~\x1b[1~\x1b[4~\x1b[H\x1bOF"),
            (std::vector{P::page_up, P::page_down, P::home, P::end, P::home, P::end}));
  EXPECT_EQ(typed("\r\n\x1bOM\x7f\x08\x15"),
            (std::vector{P::enter, P::enter, P::enter, P::backspace, P::backspace, P::clear}));
}

TEST(KeysTest, AKeyMayComeByteByByte) {
  Keys keys;
  EXPECT_TRUE(keys.read("\x1b").empty());
  EXPECT_TRUE(keys.is_waiting());
  EXPECT_TRUE(keys.read("[").empty());
  EXPECT_TRUE(keys.read("1;2").empty());
  EXPECT_EQ(presses(keys.read("A")), std::vector{P::up});
  EXPECT_FALSE(keys.is_waiting());
  EXPECT_TRUE(keys.read("\xe6").empty());
  EXPECT_EQ(keys.read("\x97\xa5"), (std::vector<Key>{{P::text, "日"}}));
}

TEST(KeysTest, EscapeAloneIsAKeyWhenNothingFollows) {
  Keys keys;
  EXPECT_TRUE(keys.read("\x1b").empty());
  EXPECT_EQ(presses(keys.give_up()), std::vector{P::escape});
  EXPECT_FALSE(keys.is_waiting());
  EXPECT_EQ(typed("\x1bq"), (std::vector{P::escape, P::text}));
}

TEST(KeysTest, WhatMeansNothingHereIsDroppedAsAWhole) {
  // F5, a mouse report, the answer to a question that nobody asked, F1 of the Linux console.
  EXPECT_EQ(typed("\x1b[15~\x1b[<0;3;4M\x1b[<0;3A\x1b[?62;4c\x1b[[Aq"), std::vector{P::text});
  EXPECT_EQ(Keys().read("\x01\x02q").size(), 1U);
}

TEST(KeysTest, InvalidUtf8IsNoCharacter) {
  EXPECT_EQ(Keys().read("\xff\xc3q"), (std::vector<Key>{{P::text, "q"}}));
}

TEST(KeysTest, NothingIsKeptForEver) {
  Keys keys;
  keys.read("\x1b[" + std::string(1000, '1'));
  EXPECT_FALSE(keys.is_waiting());
}

// However bytes are split over reads, the keys are the same, and none is made up.
TEST(KeysTest, HoweverBytesAreSplitTheKeysAreTheSame) {
  const std::string bytes = "a\x1b[Ab\x1b[15~\x1bOH\xe6\x97\xa5\x1b[6;5~q";
  const std::vector<Key> whole = Keys().read(bytes);
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    Keys keys;
    std::vector<Key> parts;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = 1 + random() % 4;
      for (const Key& key : keys.read(bytes.substr(at, size))) parts.push_back(key);
      at += size;
    }
    EXPECT_EQ(parts, whole) << "seed " << seed;
  }
}

}  // namespace
}  // namespace holdfast::cli::top
