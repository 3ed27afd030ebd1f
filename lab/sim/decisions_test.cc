#include "lab/sim/decisions.h"

#include <gtest/gtest.h>

namespace holdfast::lab::sim {
namespace {

TEST(Selection, IsReadAsItIsWritten) {
  for (const char* text : {"none", "0", "0,3/4", "2,5,7/64"}) {
    const auto selection = Selection::parse(text);
    ASSERT_TRUE(selection) << text;
    EXPECT_EQ(selection->text(), text);
  }
}

TEST(Selection, RefusesWhatItCannotRead) {
  for (const char* text : {"", ",", "1,", "a", "1/0", "1/", "1/99999999", "-1", "1 2", "none,1"}) {
    EXPECT_FALSE(Selection::parse(text)) << text;
  }
}

TEST(Selection, KeepsAllUnlessSaidOtherwise) {
  const Selection all;
  EXPECT_TRUE(all.keeps(0));
  EXPECT_TRUE(all.keeps(1000));
  const auto some = Selection::parse("1/8");
  EXPECT_FALSE(some->keeps(0));
  EXPECT_TRUE(some->keeps(1));
  EXPECT_EQ(some->divisor(1), 8U);
}

TEST(Decisions, LeavingOneOutChangesNoOther) {
  const Selection all;
  const auto without_first = Selection::parse("1,2");
  Decisions whole(7, all);
  Decisions part(7, *without_first);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(whole.next(), part.next());
    EXPECT_TRUE(whole.take(FaultKind::loss));
    EXPECT_EQ(part.take(FaultKind::loss), i != 0);
  }
  EXPECT_EQ(part.made(), 3U);
}

TEST(Decisions, SaysWhatHappenedAndForHowLong) {
  const auto selection = Selection::parse("1/4");
  Decisions decisions(1, *selection);
  EXPECT_FALSE(decisions.take(FaultKind::loss));
  EXPECT_TRUE(decisions.take(FaultKind::client_pause));
  EXPECT_EQ(decisions.length(std::chrono::seconds(8)), std::chrono::seconds(2));
  EXPECT_FALSE(decisions.happened().has(FaultKind::loss));
  EXPECT_TRUE(decisions.happened().has(FaultKind::client_pause));
}

}  // namespace
}  // namespace holdfast::lab::sim
