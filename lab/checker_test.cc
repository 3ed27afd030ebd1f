#include "lab/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;
using enum EventKind;

// Writes a history by hand: each event is one millisecond after the one before.
class Story {
 public:
  Story& then(const std::string& who, EventKind kind, std::uint64_t token = 0) {
    return add({.who = who, .kind = kind, .token = token});
  }
  Story& at(const std::string& who, EventKind kind, Fence fence, std::int64_t value,
            bool log = false) {
    return add(
        {.who = who, .kind = kind, .resource = ResourceId{"s", fence, log}.text(), .value = value});
  }
  Story& wait(Duration span) {
    now_ += span;
    return *this;
  }
  Story& tell(const std::string& who, EventKind kind, const std::string& text) {
    return add({.who = who, .kind = kind, .text = text});
  }
  Diagnosis check() const { return lab::check(history_); }
  const History& history() const { return history_; }

 private:
  Story& add(Event event) {
    now_ += 1ms;
    event.at = now_;
    history_.push_back(std::move(event));
    return *this;
  }
  BootTime now_{1s};
  History history_;
};

TEST(CheckerTest, TurnsThatAreTakenProperlyAreNoViolation) {
  Story story;
  for (int i = 0; i < 4; ++i) {
    const std::string who = i % 2 == 0 ? "A" : "B";
    story.then(who, asked).then(who, granted, 10 + i).then(who, believed);
    for (const Fence fence : kFences) {
      story.at(who, read, fence, i).at(who, wrote, fence, i + 1);
      story.at(who, read, fence, i, true).at(who, wrote, fence, i + 1, true);
    }
    story.then(who, releasing).then(who, released);
  }
  const Diagnosis finding = story.then("server", heal).wait(5ms).then("C", probed).check();
  Verdict safe;
  safe.stranded = Answer::no;
  EXPECT_EQ(finding.verdict, safe);
  EXPECT_EQ(finding.grants, 4U);
  EXPECT_EQ(finding.accepted, 24U);
  EXPECT_EQ(finding.until_progress, 6ms);
}

TEST(CheckerTest, TwoWhoSayYesAtTheSameTimeOverlap) {
  Story story;
  story.then("A", granted, 1).then("B", granted, 2).then("B", believed).then("A", believed);
  const Diagnosis finding = story.check();
  EXPECT_EQ(finding.verdict.overlap, Answer::yes);
  ASSERT_EQ(finding.overlaps.size(), 1U);
  EXPECT_EQ(finding.overlaps[0].first.who, "A");
  EXPECT_EQ(finding.overlaps[0].length(), 1ms);
}

TEST(CheckerTest, AGrantThatNobodyActedOnOverlapsNothing) {
  Story story;
  story.then("A", granted, 1).then("B", granted, 2).then("A", believed).then("B", doubted);
  EXPECT_EQ(story.check().verdict.overlap, Answer::no);
}

TEST(CheckerTest, WhoDoubtsOrReleasesOrDiesBelievesNoMore) {
  for (const EventKind end : {doubted, releasing, died}) {
    Story story;
    story.then("A", granted, 1).then("A", believed).then("A", end);
    story.then("B", granted, 2).then("B", believed);
    story.then("A", believed);  // of a dead man: it must not count
    EXPECT_EQ(story.check().verdict.overlap, Answer::no) << event_name(end);
  }
}

TEST(CheckerTest, WhoWritesAfterAPauseHasBelievedAllTheWhile) {
  Story story;
  story.then("A", granted, 1).then("A", believed).then("A", paused);
  story.then("B", granted, 2).then("B", believed);
  story.then("A", resumed).at("A", barred, Fence::full, 1);
  EXPECT_EQ(story.check().verdict.overlap, Answer::yes);
}

TEST(CheckerTest, ThreeAtOnceAreThreePairs) {
  Story story;
  for (const char* who : {"A", "B", "C"}) story.then(who, granted, who[0]);
  for (const char* who : {"A", "B", "C"}) story.then(who, believed);
  EXPECT_EQ(story.check().overlaps.size(), 3U);
}

// The harm of each kind of resource is told apart.
TEST(CheckerTest, AnUpdateIsLostWhereTheResourceTookIt) {
  for (const Fence fence : kFences) {
    for (const bool log : {false, true}) {
      Story story;
      story.at("A", wrote, fence, 1, log).at("B", wrote, fence, 1, log);
      const Diagnosis finding = story.check();
      const auto harm = [&](Fence asked_for) {
        return fence == asked_for ? Answer::yes : Answer::no;
      };
      EXPECT_EQ(finding.verdict.harm_unfenced, harm(Fence::none));
      EXPECT_EQ(finding.verdict.harm_write_fenced, harm(Fence::writes_only));
      EXPECT_EQ(finding.verdict.harm_fenced, harm(Fence::full));
      ASSERT_EQ(finding.lost_updates.size(), 1U);
      EXPECT_EQ(finding.lost_updates[0].who, "B");
    }
  }
}

TEST(CheckerTest, AWriteThatWasRefusedLosesNothing) {
  Story story;
  story.at("B", wrote, Fence::full, 1).at("A", barred, Fence::full, 1);
  EXPECT_EQ(story.check().verdict.harm_fenced, Answer::no);
  EXPECT_EQ(story.check().barred, 1U);
}

TEST(CheckerTest, AWriteThatNobodyKnowsOfIsNeitherHarmNorSafety) {
  Story story;
  story.at("A", wrote, Fence::full, 1).at("B", unclear, Fence::full, 2);
  EXPECT_EQ(story.check().verdict.harm_fenced, Answer::unknown);
  EXPECT_EQ(story.check().verdict.harm_unfenced, Answer::no);
  story.at("C", wrote, Fence::full, 1);
  EXPECT_EQ(story.check().verdict.harm_fenced, Answer::yes);
}

TEST(CheckerTest, ATokenGivenTwiceIsTrouble) {
  Story story;
  story.then("A", granted, 5).then("A", releasing).then("B", asked).then("B", granted, 5);
  EXPECT_EQ(story.check().verdict.token_order, Answer::yes);
}

TEST(CheckerTest, ATokenThatRegressesIsTrouble) {
  Story story;
  story.then("A", granted, 5).then("A", releasing).then("B", asked).then("B", granted, 4);
  EXPECT_EQ(story.check().verdict.token_order, Answer::yes);
}

TEST(CheckerTest, OfGrantsThatRacedEitherMayHaveTheHigherToken) {
  Story story;
  story.then("A", asked).then("B", asked).then("A", granted, 5).then("B", granted, 4);
  EXPECT_EQ(story.check().verdict.token_order, Answer::no);
}

// Events that the resource saw count as well: its fence may have failed.
TEST(CheckerTest, AFenceThatLetsInALowerTokenOrATokenOfTwoIsTrouble) {
  const auto at_fence = [](const std::string& who, EventKind kind, Fence fence,
                           std::uint64_t token) {
    return Event{
        .who = who, .kind = kind, .resource = ResourceId{"s", fence}.text(), .token = token};
  };
  for (const Fence fence : {Fence::writes_only, Fence::full}) {
    const History lower{at_fence("B", wrote, fence, 5), at_fence("A", wrote, fence, 4)};
    EXPECT_EQ(check(lower).verdict.token_order, Answer::yes) << fence_name(fence);
    const History shared{at_fence("B", wrote, fence, 5), at_fence("A", wrote, fence, 5)};
    EXPECT_EQ(check(shared).verdict.token_order, Answer::yes) << fence_name(fence);
    const History refused{at_fence("B", wrote, fence, 5), at_fence("A", barred, fence, 4)};
    EXPECT_EQ(check(refused).verdict.token_order, Answer::no) << fence_name(fence);
  }
  const History reads{at_fence("B", wrote, Fence::writes_only, 5),
                      at_fence("A", read, Fence::writes_only, 4)};
  EXPECT_EQ(check(reads).verdict.token_order, Answer::no);  // which it does not check
  const History open{at_fence("B", wrote, Fence::none, 5), at_fence("A", wrote, Fence::none, 4)};
  EXPECT_EQ(check(open).verdict.token_order, Answer::no);
}

TEST(CheckerTest, AReaderIsMeasuredByWritersAndAWriterByAll) {
  const auto at_fence = [](const std::string& who, std::uint64_t token, bool shared) {
    return Event{.who = who,
                 .kind = shared ? read : wrote,
                 .resource = ResourceId{"s", Fence::full}.text(),
                 .token = token,
                 .shared = shared};
  };
  const History readers{at_fence("B", 5, true), at_fence("A", 4, true)};
  EXPECT_EQ(check(readers).verdict.token_order, Answer::no);
  const History late_reader{at_fence("B", 5, false), at_fence("A", 4, true)};
  EXPECT_EQ(check(late_reader).verdict.token_order, Answer::yes);
  const History hidden{at_fence("B", 5, false), at_fence("C", 7, true), at_fence("A", 4, true)};
  EXPECT_EQ(check(hidden).verdict.token_order, Answer::yes);
  const History late_writer{at_fence("B", 5, true), at_fence("A", 4, false)};
  EXPECT_EQ(check(late_writer).verdict.token_order, Answer::yes);
}

TEST(CheckerTest, ReadersHoldTogether) {
  const auto at = [](int second, const std::string& who, EventKind kind, bool shared) {
    return Event{.at = BootTime(std::chrono::seconds(second)),
                 .who = who,
                 .kind = kind,
                 .token = static_cast<std::uint64_t>(second),
                 .shared = shared};
  };
  const auto both = [&](bool second_is_reader) {
    return History{at(1, "A", granted, true), at(2, "B", granted, second_is_reader),
                   at(3, "A", believed, true), at(4, "B", believed, second_is_reader)};
  };
  EXPECT_EQ(check(both(true)).verdict.overlap, Answer::no);
  EXPECT_EQ(check(both(false)).verdict.overlap, Answer::yes);
}

TEST(CheckerTest, WithoutTokensNobodyKnowsWhatAFenceWouldHaveDone) {
  Story story;
  story.then("A", granted).at("A", wrote, Fence::none, 1).at("B", wrote, Fence::none, 1);
  const Verdict verdict = story.check().verdict;
  EXPECT_EQ(verdict.harm_unfenced, Answer::yes);
  EXPECT_EQ(verdict.harm_write_fenced, Answer::unknown);
  EXPECT_EQ(verdict.harm_fenced, Answer::unknown);
}

TEST(CheckerTest, RecipesWithoutTokensHaveNoTokenTrouble) {
  Story story;
  story.then("A", granted).then("A", releasing).then("B", asked).then("B", granted);
  EXPECT_EQ(story.check().verdict.token_order, Answer::no);
}

TEST(CheckerTest, WhoAskedLaterAndIsServedFirstHasOvertaken) {
  Story story;
  story.then("A", asked).wait(100ms).then("B", asked).then("B", granted, 1).then("A", granted, 2);
  ASSERT_EQ(story.check().overtakings.size(), 1U);
  EXPECT_EQ(story.check().overtakings[0].early, "A");
  EXPECT_EQ(story.check().verdict.overtaken, Answer::yes);
  EXPECT_EQ(story.check().longest_wait, 103ms);
}

TEST(CheckerTest, AmongSurvivorsOnlyIsAnyoneOvertaken) {
  Story dead;
  dead.then("A", asked).wait(100ms).then("B", asked).then("A", died).then("B", granted, 1);
  EXPECT_EQ(dead.check().verdict.overtaken, Answer::no);
  Story in_turn;
  in_turn.then("A", asked).wait(100ms).then("B", asked);
  in_turn.then("A", granted, 1).then("B", granted, 2);
  EXPECT_EQ(in_turn.check().verdict.overtaken, Answer::no);
}

TEST(CheckerTest, AWaiterThatWasStoppedOrAskedAtTheSameMomentCountsForNoOvertaking) {
  Story stopped;
  stopped.then("A", asked).then("A", paused).wait(100ms);
  stopped.then("B", asked).then("B", granted, 1).then("A", granted, 2);
  EXPECT_TRUE(stopped.check().overtakings.empty());
  Story raced;
  raced.then("A", asked).then("B", asked).then("B", granted, 1).then("A", granted, 2);
  EXPECT_TRUE(raced.check().overtakings.empty());
}

TEST(CheckerTest, ALockThatNobodyGetsAfterTheHealIsStranded) {
  EXPECT_EQ(Story().then("server", heal).then("C", stranded).check().verdict.stranded, Answer::yes);
  EXPECT_EQ(Story().then("server", heal).check().verdict.stranded, Answer::unknown);
}

TEST(CheckerTest, WhoIsKeptFromAFreeLockHasBeenStalled) {
  EXPECT_EQ(Story().tell("B", refused, "stalled").check().verdict.stalled, Answer::yes);
  EXPECT_EQ(Story().tell("B", refused, "busy").check().verdict.stalled, Answer::no);
}

}  // namespace
}  // namespace holdfast::lab
