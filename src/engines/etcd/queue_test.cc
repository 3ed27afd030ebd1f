#include "engines/etcd/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace holdfast::internal::etcd {
namespace {

using State = Standing::State;

// A lock's keys as etcd would show them to a claim: what add_look() asks for, answered here.
class Shelf {
 public:
  explicit Shelf(std::string_view name = "x") : keys(std::string(), Name(name)) {}

  Claim claim(std::uint8_t who, Mode mode = Mode::exclusive, std::uint32_t permits = 1) const {
    return Claim{.name = "x",
                 .id = ClaimId({who}),
                 .mode = mode,
                 .permits = permits,
                 .ttl = {},
                 .label = {}};
  }
  Revision add(const Claim& claim, bool granted = false) {
    const Note note{.granted = granted, .ttl = {}, .since = {}, .label = "someone"};
    return add(keys.of(claim), note.encode());
  }
  Revision add(const std::string& key, const std::string& value) {
    pairs_.push_back(KeyValue{key, value, ++revision_, revision_, 77});
    return revision_;
  }
  void remove(const Claim& claim) {
    std::erase_if(pairs_, [&](const KeyValue& pair) { return pair.key == keys.of(claim); });
  }

  Standing standing(const Claim& claim, Revision created = 0) const {
    TxnAnswer answer;
    answer.header.revision = revision_;
    const auto part = [&](const std::string& begin, const std::string& end, Range::Order order,
                          std::size_t limit, Revision until) {
      TxnAnswer::Part found;
      for (const KeyValue& pair : pairs_) {
        const bool inside = end.empty() ? pair.key == begin : pair.key >= begin && pair.key < end;
        if (inside && (until == 0 || pair.created <= until)) found.range.pairs.push_back(pair);
      }
      found.range.count = static_cast<std::int64_t>(found.range.pairs.size());
      if (order == Range::Order::newest_first) {
        std::reverse(found.range.pairs.begin(), found.range.pairs.end());
      }
      if (limit != 0 && found.range.pairs.size() > limit) found.range.pairs.resize(limit);
      answer.parts.push_back(std::move(found));
    };
    const auto oldest = Range::Order::oldest_first;
    const auto newest = Range::Order::newest_first;
    part(keys.of(claim), "", oldest, 0, 0);
    if (claim.mode == Mode::shared) {
      part(keys.base, keys.shared_begin, newest, 1, created);
      part(keys.shared_end, keys.end, newest, 1, created);
    } else {
      part(keys.base, keys.end, newest, 3, created);
    }
    if (claim.mode == Mode::permit) {
      part(keys.base, keys.end, oldest, claim.permits + 1, created);
      part(keys.permits_begin, keys.permits_begin_of(claim.permits), oldest, 1, created);
      part(keys.permits_end_of(claim.permits), keys.permits_end, oldest, 1, created);
    }
    part(keys.base, keys.end, oldest, 1, 0);
    return standing_of(keys, claim, answer, 0);
  }

  const Keys keys;

 private:
  std::vector<KeyValue> pairs_;
  Revision revision_ = 100;
};

TEST(EtcdQueueTest, TheOldestHoldsAndTheNextWaitsForItsEnd) {
  Shelf shelf;
  const Revision first = shelf.add(shelf.claim(1));
  shelf.add(shelf.claim(2));
  EXPECT_EQ(shelf.standing(shelf.claim(1), first).state, State::holds);
  const Standing second = shelf.standing(shelf.claim(2));
  EXPECT_EQ(second.state, State::waits);
  ASSERT_EQ(second.in_the_way.size(), 1U);
  EXPECT_EQ(second.in_the_way[0].created, first);
  EXPECT_TRUE(second.in_the_way[0].last);
}

TEST(EtcdQueueTest, TheThirdMustLookAgainUntilItHearsThatTheSecondHolds) {
  Shelf shelf;
  shelf.add(shelf.claim(1));
  const Revision second = shelf.add(shelf.claim(2));
  shelf.add(shelf.claim(3));
  Standing third = shelf.standing(shelf.claim(3));
  ASSERT_EQ(third.in_the_way.size(), 1U);
  InTheWay& key = third.in_the_way[0];
  EXPECT_EQ(key.created, second);
  EXPECT_FALSE(key.last);
  WatchEvent gone{.removed = true, .pair = {}};
  gone.pair.modified = second - 1;
  EXPECT_EQ(news_of(key, shelf.keys, shelf.claim(3), gone), News::nothing)
      << "whoever had the key before";
  gone.pair.modified = second + 3;
  EXPECT_EQ(news_of(key, shelf.keys, shelf.claim(3), gone), News::look_again)
      << "its session may have ended while it waited";

  WatchEvent marked;
  marked.pair.key = key.key;
  marked.pair.modified = second + 2;
  marked.pair.value = Note{.granted = true, .ttl = {}, .since = {}, .label = {}}.encode();
  EXPECT_EQ(news_of(key, shelf.keys, shelf.claim(3), marked), News::nothing);
  EXPECT_EQ(news_of(key, shelf.keys, shelf.claim(3), gone), News::our_turn);
}

TEST(EtcdQueueTest, WhatAKeyWasWhenItEndedSaysWhetherItHeld) {
  Shelf shelf;
  shelf.add(shelf.claim(1));
  const Revision second = shelf.add(shelf.claim(2));
  shelf.add(shelf.claim(3));
  const InTheWay seen = shelf.standing(shelf.claim(3)).in_the_way.at(0);
  const auto news = [&](bool granted, Revision created, const Claim& claim) {
    InTheWay key = seen;
    KeyValue before;
    before.key = key.key;
    before.created = created;
    before.value = Note{.granted = granted, .ttl = {}, .since = {}, .label = {}}.encode();
    WatchEvent gone{.removed = true, .pair = {}, .before = before};
    gone.pair.modified = second + 3;
    return news_of(key, shelf.keys, claim, gone);
  };
  EXPECT_EQ(news(true, second, shelf.claim(3)), News::our_turn);
  EXPECT_EQ(news(false, second, shelf.claim(3)), News::look_again) << "it was waiting itself";
  EXPECT_EQ(news(true, second - 1, shelf.claim(3)), News::look_again) << "that was another claim";
  EXPECT_EQ(news(true, second, shelf.claim(3, Mode::permit, 2)), News::look_again);
}

TEST(EtcdQueueTest, AnAbsentClaimDoesNotHold) {
  Shelf shelf;
  EXPECT_EQ(shelf.standing(shelf.claim(1)).state, State::absent);
  shelf.add(shelf.claim(2));
  EXPECT_EQ(shelf.standing(shelf.claim(1)).state, State::absent);
}

TEST(EtcdQueueTest, WhoIsHiddenByNewerOnesAsksAgainWithItsRevision) {
  Shelf shelf;
  shelf.add(shelf.claim(1));
  const Revision mine = shelf.add(shelf.claim(2));
  shelf.add(shelf.claim(3));
  shelf.add(shelf.claim(4));
  EXPECT_EQ(shelf.standing(shelf.claim(2)).state, State::unclear);
  EXPECT_EQ(shelf.standing(shelf.claim(2), mine).state, State::waits);
}

TEST(EtcdQueueTest, AForeignKeyIsExclusive) {
  Shelf shelf;
  const Revision foreign = shelf.add(shelf.keys.base + "694d8c3e5b6f7a01", "");
  for (const Mode mode : {Mode::exclusive, Mode::shared, Mode::permit}) {
    const Claim claim = shelf.claim(1, mode, 2);
    shelf.add(claim);
    const Standing standing = shelf.standing(claim);
    EXPECT_EQ(standing.state, State::waits) << mode_name(mode);
    ASSERT_EQ(standing.in_the_way.size(), 1U);
    EXPECT_EQ(standing.in_the_way[0].created, foreign);
    EXPECT_THAT(standing.busy.holder, testing::HasSubstr("foreign"));
    shelf.remove(claim);
  }
}

TEST(EtcdQueueTest, ReadersHoldTogetherAndWaitForTheNearestWriterBeforeThem) {
  Shelf shelf;
  shelf.add(shelf.claim(1, Mode::shared));
  const Claim second = shelf.claim(2, Mode::shared);
  shelf.add(second);
  EXPECT_EQ(shelf.standing(second).state, State::holds);
  const Revision writer = shelf.add(shelf.claim(3));
  const Claim late = shelf.claim(4, Mode::shared);
  const Revision mine = shelf.add(late);
  const Standing standing = shelf.standing(late);
  EXPECT_EQ(standing.state, State::waits);
  ASSERT_EQ(standing.in_the_way.size(), 1U);
  EXPECT_EQ(standing.in_the_way[0].created, writer);
  EXPECT_FALSE(standing.in_the_way[0].last) << "it waits itself";
  EXPECT_EQ(shelf.standing(late, mine).state, State::waits);
}

TEST(EtcdQueueTest, AWriterBehindReadersWaitsForTheLastAndLooksAgain) {
  Shelf shelf;
  shelf.add(shelf.claim(1, Mode::shared));
  const Revision last = shelf.add(shelf.claim(2, Mode::shared));
  shelf.add(shelf.claim(3));
  const Standing standing = shelf.standing(shelf.claim(3));
  ASSERT_EQ(standing.in_the_way.size(), 1U);
  EXPECT_EQ(standing.in_the_way[0].created, last);
  EXPECT_FALSE(standing.in_the_way[0].last);
  shelf.remove(shelf.claim(1, Mode::shared));
  EXPECT_TRUE(shelf.standing(shelf.claim(3)).in_the_way.at(0).last);
}

TEST(EtcdQueueTest, AsManyPermitsHoldAsThereAre) {
  Shelf shelf;
  for (std::uint8_t who = 1; who <= 4; ++who) shelf.add(shelf.claim(who, Mode::permit, 2));
  const auto standing = [&](std::uint8_t who) {
    const Claim claim = shelf.claim(who, Mode::permit, 2);
    return shelf.standing(claim, shelf.standing(claim).created);
  };
  EXPECT_EQ(standing(1).state, State::holds);
  EXPECT_EQ(standing(2).state, State::holds);
  const Standing next = standing(3);
  EXPECT_EQ(next.state, State::waits);
  EXPECT_EQ(next.in_the_way.size(), 2U) << "whoever gives one back makes room";
  EXPECT_TRUE(next.in_the_way[0].last);
  const Standing behind = standing(4);
  ASSERT_EQ(behind.in_the_way.size(), 1U);
  EXPECT_FALSE(behind.in_the_way[0].last);
}

TEST(EtcdQueueTest, AnotherNumberOfPermitsIsSeenByWhoComesLater) {
  Shelf shelf;
  shelf.add(shelf.claim(1, Mode::permit, 3));
  const Claim other = shelf.claim(2, Mode::permit, 4);
  shelf.add(other);
  const Standing refused = shelf.standing(other);
  EXPECT_EQ(refused.state, State::other_number);
  EXPECT_EQ(refused.other_permits, 3U);
  EXPECT_EQ(shelf.standing(shelf.claim(1, Mode::permit, 3)).state, State::holds);
}

TEST(EtcdQueueTest, WhoHoldsIsDecidedInTheOrderOfTheQueue) {
  const auto entry = [](Mode mode, std::uint32_t permits = 1) {
    Entry one;
    one.mode = mode;
    one.permits = permits;
    return one;
  };
  const Mode e = Mode::exclusive;
  const Mode s = Mode::shared;
  EXPECT_EQ(count_holders({}), 0U);
  EXPECT_EQ(count_holders({entry(e), entry(e)}), 1U);
  EXPECT_EQ(count_holders({entry(s), entry(s), entry(e), entry(s)}), 2U);
  EXPECT_EQ(count_holders({entry(Mode::permit, 2), entry(Mode::permit, 2), entry(Mode::permit, 2)}),
            2U);
  EXPECT_EQ(count_holders({entry(s), entry(Mode::permit, 2)}), 1U);
}

TEST(EtcdKeysTest, NamesWithSlashesAreNotInTheQueuesOfTheirBeginnings) {
  const Keys a("", Name("a"));
  const Keys b("", Name("a/b"));
  EXPECT_FALSE(b.base >= a.base && b.base < a.end);
  for (const char* name : {"a", "a/b", "a%2Fb", "%", "/", "//x", "x/"}) {
    const Claim claim{.name = name, .id = ClaimId({1}), .ttl = {}, .label = {}};
    const std::string key = Keys("p:", Name(name)).of(claim);
    EXPECT_EQ(name_of("p:", key), Name(name)) << key;
  }
}

TEST(EtcdKeysTest, WhatIsNotWrittenAsWeWriteItIsNobodysName) {
  EXPECT_FALSE(name_of("", "a/b/694d"));
  EXPECT_FALSE(name_of("", "no slash"));
  EXPECT_FALSE(name_of("", "/694d"));
  EXPECT_FALSE(name_of("p:", "a/694d"));
  EXPECT_EQ(name_of("", "a/694d"), Name("a"));
}

TEST(EtcdKeysTest, AKeyTellsTheClaim) {
  const Keys keys("", Name("x"));
  for (const Mode mode : {Mode::exclusive, Mode::shared, Mode::permit}) {
    const Claim claim{
        .name = "x", .id = ClaimId({1, 2}), .mode = mode, .permits = 12, .ttl = {}, .label = {}};
    const Note note{.granted = true,
                    .ttl = std::chrono::seconds(3),
                    .since = WallTime(std::chrono::microseconds(5)),
                    .label = "a label, with spaces\n"};
    const Entry entry = entry_of(keys, KeyValue{keys.of(claim), note.encode(), 4, 5, 6});
    EXPECT_FALSE(entry.foreign);
    EXPECT_EQ(entry.id, claim.id);
    EXPECT_EQ(entry.mode, mode);
    EXPECT_EQ(entry.permits, mode == Mode::permit ? 12U : 1U);
    EXPECT_TRUE(entry.note.granted);
    EXPECT_EQ(entry.note.ttl, std::chrono::seconds(3));
    EXPECT_EQ(entry.label(), "a label, with spaces\n");
    EXPECT_EQ(entry.created, 4);
    EXPECT_EQ(entry.lease, 6);
  }
}

TEST(EtcdKeysTest, AnAbsurdNoteIsNone) {
  for (const char* value :
       {"", "holdfast1", "holdfast1 g 1", "holdfast1 g x 1 l", "holdfast1 g -1 1 l",
        "holdfast1 g 99999999999999999 1 l", "holdfast1 g 1 -1 l",
        "holdfast1 g 1 9223372036854775807 l", "holdfast2 g 1 1 l"}) {
    EXPECT_FALSE(Note::parse(value)) << value;
  }
}

}  // namespace
}  // namespace holdfast::internal::etcd
