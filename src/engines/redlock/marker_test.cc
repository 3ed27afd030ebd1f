#include "engines/redlock/marker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::internal::redlock {

namespace {

using quorum::Era;
using State = Marker::State;

TEST(MarkerTest, NothingIsBlank) {
  const std::optional<Marker> marker = Marker::parse("");
  ASSERT_TRUE(marker);
  EXPECT_EQ(marker->state, State::blank);
}

TEST(MarkerTest, WhatIsWrittenForAnOpenNodeIsRead) {
  const std::string text = Marker::open_text(Era{1794791524210, 77}, 60000, 5, 42, "c0ffee");
  const std::optional<Marker> marker = Marker::parse(text);
  ASSERT_TRUE(marker);
  EXPECT_EQ(marker->state, State::open);
  EXPECT_EQ(marker->run, "c0ffee");
  EXPECT_TRUE(marker->epoch == (Era{1794791524210, 77}));
  EXPECT_EQ(marker->longest_ms, 60000);
  EXPECT_EQ(marker->nodes, 5U);
  EXPECT_FALSE(marker->established);
  EXPECT_EQ(marker->text, text);
}

TEST(MarkerTest, AnEpochThatAMajorityHadIsToldApart) {
  const std::optional<Marker> marker = Marker::parse("7.8 60000 3 1 9 ab");
  ASSERT_TRUE(marker);
  EXPECT_TRUE(marker->established);
  EXPECT_EQ(marker->in_run("cd"), "7.8 60000 3 1 9 cd");
}

TEST(MarkerTest, ANodeThatDoesNotVoteYetSaysWhy) {
  const std::optional<Marker> founding = Marker::parse("founding 12 3");
  ASSERT_TRUE(founding);
  EXPECT_EQ(founding->state, State::founding);
  EXPECT_EQ(founding->nodes, 3U);

  const std::optional<Marker> marked = Marker::parse("marked 12 3");
  ASSERT_TRUE(marked);
  EXPECT_EQ(marked->state, State::marked);

  const std::optional<Marker> joining = Marker::parse("joining 7.8 60000 5 1794791584210");
  ASSERT_TRUE(joining);
  EXPECT_EQ(joining->state, State::joining);
  EXPECT_TRUE(joining->epoch == (Era{7, 8}));
  EXPECT_EQ(joining->longest_ms, 60000);
  EXPECT_EQ(joining->until_ms, 1794791584210);
}

TEST(MarkerTest, ALaterEpochIsGreaterAndNoTwoAreTheSame) {
  EXPECT_LT((Era{7, 99}), (Era{8, 1}));
  EXPECT_LT((Era{7, 1}), (Era{7, 2}));
}

TEST(MarkerTest, WhatIsNoMarkerIsNotTakenForOne) {
  for (const char* text : {"7",
                           "7.8",
                           "7.8 60000",
                           "7.8 60000 3",
                           "7.8 60000 3 1",
                           "7.8 60000 3 1 9",
                           "7.8 60000 3 1 9 xyz",
                           "7.8 60000 3 1 9 ab ",
                           "7 60000 3 1 9 ab",
                           "7.8  60000 3 1 9 ab",
                           "-7.8 60000 3 1 9 ab",
                           "7.8 60000 3 1 x ab",
                           "founding",
                           "founding 3",
                           "founding 3 ",
                           "founding x 3",
                           "marked 3",
                           "joining 7.8 60000 5",
                           "joining 7.8 60000 5 1 2",
                           "joining",
                           "something else",
                           " 7.8 60000 3 1 9 ab",
                           "9007199254740993.8 60000 3 1 9 ab"}) {
    EXPECT_FALSE(Marker::parse(text)) << text;
  }
}

}  // namespace

}  // namespace holdfast::internal::redlock
