#include "engines/redlock/marker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

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
  const std::optional<Marker> founding = Marker::parse("founding 12 5 c0ffee");
  ASSERT_TRUE(founding);
  const std::string text = founding->open_text(Era{1794791524210, 77}, 60000, 5, 42, 0);
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
  EXPECT_EQ(marker->floor, 0U);
}

TEST(MarkerTest, ANodeThatDoesNotVoteYetSaysWhy) {
  const std::optional<Marker> founding = Marker::parse("founding 12 3 ab");
  ASSERT_TRUE(founding);
  EXPECT_EQ(founding->state, State::founding);
  EXPECT_EQ(founding->nodes, 3U);

  EXPECT_EQ(founding->run, "ab");

  const std::optional<Marker> marked = Marker::parse("marked 12 3 7.8 60000 9 1 ab");
  ASSERT_TRUE(marked);
  EXPECT_EQ(marked->state, State::marked);
  EXPECT_TRUE(marked->remembers());
  EXPECT_EQ(marked->floor, 9U);
  EXPECT_EQ(marked->run, "ab");

  const std::optional<Marker> joining = Marker::parse("joining 7.8 60000 5 9 2 ab 1794791584210");
  ASSERT_TRUE(joining);
  EXPECT_EQ(joining->state, State::joining);
  EXPECT_TRUE(joining->epoch == (Era{7, 8}));
  EXPECT_EQ(joining->longest_ms, 60000);
  EXPECT_EQ(joining->until_ms, 1794791584210);
  EXPECT_EQ(joining->memory, Marker::Memory::refounds);
  EXPECT_EQ(joining->run, "ab");
}

TEST(MarkerTest, ARefoundedNodeSaysAboveWhat) {
  const std::optional<Marker> joining = Marker::parse("joining 7.8 60000 3 9 2 ab 1");
  ASSERT_TRUE(joining);
  const std::string text = joining->open_text(Era{7, 8}, 60000, 3, 9, 1794791584210000);
  EXPECT_EQ(text, "7.8 60000 3 0 9 ab above=1794791584210000");
  const std::optional<Marker> marker = Marker::parse(text);
  ASSERT_TRUE(marker);
  EXPECT_EQ(marker->floor, 1794791584210000U);
  EXPECT_EQ(marker->run, "ab");
}

TEST(MarkerTest, ANodeThatIsClosedKeepsInMindWhatItWas) {
  const std::optional<Marker> open = Marker::parse("7.8 60000 3 1 9 ab above=5");
  ASSERT_TRUE(open);
  EXPECT_EQ(open->marked_text(12, 3, "cd"), "marked 12 3 7.8 60000 5 1 cd");
  const std::optional<Marker> marked = Marker::parse(open->marked_text(12, 3, "cd"));
  ASSERT_TRUE(marked);
  EXPECT_EQ(marked->joining_text(Era{9, 1}, 700, 6, Marker::Memory::refounds),
            "joining 9.1 700 3 6 2 cd ");
  const std::optional<Marker> empty = Marker::parse("joining 7.8 60000 3 0 0 ab 1");
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->marked_text(12, 3, "cd"), "marked 12 3 7.8 60000 0 0 cd");
}

// They name no process: a client that reads them takes the node for a restarted one that is empty.
TEST(MarkerTest, ClosedStatesOfEarlierVersionsAreRead) {
  for (const char* text : {"founding 12 3", "marked 12 3", "joining 7.8 60000 5 1794791584210"}) {
    const std::optional<Marker> marker = Marker::parse(text);
    ASSERT_TRUE(marker) << text;
    EXPECT_TRUE(marker->run.empty());
    EXPECT_FALSE(marker->remembers());
  }
}

TEST(MarkerDeathTest, OnlyTheTransitionsThatAreDrawnAreWritten) {
  struct Case {
    const char* text;
    bool opens, marks, joins;
  };
  for (const Case& each :
       {Case{"", false, false, false}, Case{"founding 12 3 ab", true, false, false},
        Case{"marked 12 3 7.8 60000 9 1 ab", false, true, true},
        Case{"joining 7.8 60000 3 0 0 ab 1", true, true, true},
        Case{"7.8 60000 3 1 9 ab", false, true, false}}) {
    SCOPED_TRACE(each.text);
    const Marker marker = Marker::parse(each.text).value();
    const auto open = [&] { static_cast<void>(marker.open_text(Era{9, 1}, 700, 3, 5, 0)); };
    const auto mark = [&] { static_cast<void>(marker.marked_text(5, 3, "cd")); };
    const auto join = [&] {
      static_cast<void>(marker.joining_text(Era{9, 1}, 700, 0, Marker::Memory::older));
    };
    const auto expect = [&](bool possible, const std::function<void()>& transition) {
      if (possible) return transition();
      EXPECT_DEATH(transition(), "requires state ==");
    };
    expect(each.opens, open);
    expect(each.marks, mark);
    expect(each.joins, join);
  }
}

TEST(MarkerDeathTest, ANodeIsMarkedByAnotherProcessThanWroteItsMarker) {
  const Marker open = Marker::parse("7.8 60000 3 1 9 ab").value();
  EXPECT_DEATH(static_cast<void>(open.marked_text(12, 3, "ab")), "requires run != in_run");
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
                           "joining 7.8 60000 5 0 3 ab 1",
                           "joining 7.8 60000 5 0 1 ab",
                           "marked 12 3 7.8 60000 9 1",
                           "founding 12 3 xyz",
                           "7.8 60000 3 1 9 ab above=",
                           "7.8 60000 3 1 9 ab above=x",
                           "7.8 60000 3 1 9 ab 5",
                           "joining",
                           "something else",
                           " 7.8 60000 3 1 9 ab",
                           "9007199254740993.8 60000 3 1 9 ab"}) {
    EXPECT_FALSE(Marker::parse(text)) << text;
  }
}

}  // namespace

}  // namespace holdfast::internal::redlock
