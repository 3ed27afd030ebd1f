#include "engines/redlock/marker.h"

#include <gtest/gtest.h>

namespace holdfast::internal::redlock {
namespace {

using State = Marker::State;

TEST(Marker, NothingIsABlankNode) {
  const auto marker = Marker::parse("");
  ASSERT_TRUE(marker);
  EXPECT_EQ(marker->state, State::blank);
  EXPECT_FALSE(marker->votes());
  EXPECT_EQ(Marker().state, State::blank);
}

TEST(Marker, WhatIsWrittenIsReadAgain) {
  const std::string text = Marker::open_text(1731700000000, 60'000, 5);
  EXPECT_EQ(text, "1731700000000 60000 5");
  const auto marker = Marker::parse(text);
  ASSERT_TRUE(marker);
  EXPECT_EQ(marker->state, State::open);
  EXPECT_TRUE(marker->votes());
  EXPECT_EQ(marker->epoch, 1731700000000U);
  EXPECT_EQ(marker->longest_ms, 60'000);
  EXPECT_EQ(marker->nodes, 5U);
  EXPECT_EQ(marker->text, text) << "votes compare the text as it stands there";
}

TEST(Marker, ANodeThatIsFoundedOrJoinsDoesNotVote) {
  const auto founding = Marker::parse("founding 3");
  ASSERT_TRUE(founding);
  EXPECT_EQ(founding->state, State::founding);
  EXPECT_EQ(founding->nodes, 3U);
  EXPECT_FALSE(founding->votes());
  EXPECT_EQ(founding->text, "founding 3");

  const auto joining = Marker::parse("joining 12 60000 3 1731700060000");
  ASSERT_TRUE(joining);
  EXPECT_EQ(joining->state, State::joining);
  EXPECT_EQ(joining->epoch, 12U);
  EXPECT_EQ(joining->longest_ms, 60'000);
  EXPECT_EQ(joining->nodes, 3U);
  EXPECT_EQ(joining->until_ms, 1731700060000);
  EXPECT_FALSE(joining->votes());
}

TEST(Marker, NumbersThatAScriptCanCountToAreRead) {
  EXPECT_TRUE(Marker::parse("9007199254740992 1 1"));
  EXPECT_FALSE(Marker::parse("9007199254740993 1 1"));
  EXPECT_FALSE(Marker::parse("18446744073709551615 1 1"));
  EXPECT_FALSE(Marker::parse("99999999999999999999999 1 1"));
}

class NoMarker : public testing::TestWithParam<const char*> {};

TEST_P(NoMarker, IsNotTakenForOne) { EXPECT_FALSE(Marker::parse(GetParam())); }

INSTANTIATE_TEST_SUITE_P(, NoMarker,
                         testing::Values(" ", "1", "1 2", "1 2 3 4", " 1 2 3", "1 2 3 ", "1  2 3",
                                         "1\t2\t3", "1 2 3\n", "-1 2 3", "+1 2 3", "1.0 2 3",
                                         "0x1 2 3", "a b c", "founding", "founding ", "founding x",
                                         "founding 3 3", "Founding 3", "joining", "joining ",
                                         "joining 1 2 3", "joining 1 2 3 4 5", "joining 1 2 3 x",
                                         "founding joining 1 2 3 4", "open 1 2 3"),
                         [](const testing::TestParamInfo<const char*>& text) {
                           return std::to_string(text.index);
                         });

TEST(Marker, BytesThatAreNoTextAreNotTakenForOne) {
  EXPECT_FALSE(Marker::parse(std::string_view("1 2 3\0", 6)));
  EXPECT_FALSE(Marker::parse(std::string_view("\0", 1)));
  EXPECT_FALSE(Marker::parse("\xff\xfe"));
}

}  // namespace
}  // namespace holdfast::internal::redlock
