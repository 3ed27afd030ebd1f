#include "engines/etcd/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace holdfast::internal::etcd {
namespace {

using State = Position::State;

// A lock's keys as etcd would show them to a claim: what add_reads() asks for, answered here.
class FakeQueue {
 public:
  explicit FakeQueue(std::string_view name = "x") : keys(std::string(), Name(name)) {}

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

  Position position(const Claim& claim, Revision created = 0) const {
    TxnAnswer answer;
    answer.header.revision = revision_;
    const auto part = [&](const std::string& begin, const std::string& end, Range::Order order,
                          std::size_t limit, Revision until) {
      RangeAnswer found;
      for (const KeyValue& pair : pairs_) {
        const bool inside = end.empty() ? pair.key == begin : pair.key >= begin && pair.key < end;
        if (inside && (until == 0 || pair.created <= until)) found.pairs.push_back(pair);
      }
      found.count = static_cast<std::int64_t>(found.pairs.size());
      if (order == Range::Order::newest_first) {
        std::reverse(found.pairs.begin(), found.pairs.end());
      }
      if (limit != 0 && found.pairs.size() > limit) found.pairs.resize(limit);
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
    return position_of(keys, claim, answer);
  }

  const Keys keys;

 private:
  std::vector<KeyValue> pairs_;
  Revision revision_ = 100;
};

TEST(EtcdQueueTest, TheOldestHoldsAndTheNextWaitsForItsEnd) {
  FakeQueue queue;
  const Revision first = queue.add(queue.claim(1));
  queue.add(queue.claim(2));
  EXPECT_EQ(queue.position(queue.claim(1), first).state, State::holds);
  const Position second = queue.position(queue.claim(2));
  EXPECT_EQ(second.state, State::waits);
  ASSERT_EQ(second.predecessors.size(), 1U);
  EXPECT_EQ(second.predecessors[0].created, first);
  EXPECT_TRUE(second.predecessors[0].end_grants);
}

TEST(EtcdQueueTest, TheThirdMustLookAgainUntilItHearsThatTheSecondHolds) {
  FakeQueue queue;
  queue.add(queue.claim(1));
  const Revision second = queue.add(queue.claim(2));
  queue.add(queue.claim(3));
  Position third = queue.position(queue.claim(3));
  ASSERT_EQ(third.predecessors.size(), 1U);
  Predecessor& key = third.predecessors[0];
  EXPECT_EQ(key.created, second);
  EXPECT_FALSE(key.end_grants);
  WatchEvent gone{.removed = true, .pair = {}};
  gone.pair.modified = second - 1;
  EXPECT_EQ(effect_of(key, queue.keys, queue.claim(3), gone), Effect::none)
      << "whoever had the key before";
  gone.pair.modified = second + 3;
  EXPECT_EQ(effect_of(key, queue.keys, queue.claim(3), gone), Effect::read_again)
      << "its session may have ended while it waited";

  WatchEvent marked;
  marked.pair.key = key.key;
  marked.pair.modified = second + 2;
  marked.pair.value = Note{.granted = true, .ttl = {}, .since = {}, .label = {}}.encode();
  EXPECT_EQ(effect_of(key, queue.keys, queue.claim(3), marked), Effect::none);
  EXPECT_EQ(effect_of(key, queue.keys, queue.claim(3), gone), Effect::granted);
}

TEST(EtcdQueueTest, WhatAKeyWasWhenItEndedSaysWhetherItHeld) {
  FakeQueue queue;
  queue.add(queue.claim(1));
  const Revision second = queue.add(queue.claim(2));
  queue.add(queue.claim(3));
  const Predecessor seen = queue.position(queue.claim(3)).predecessors.at(0);
  const auto effect = [&](bool granted, Revision created, const Claim& claim) {
    Predecessor key = seen;
    KeyValue before;
    before.key = key.key;
    before.created = created;
    before.value = Note{.granted = granted, .ttl = {}, .since = {}, .label = {}}.encode();
    WatchEvent gone{.removed = true, .pair = {}, .before = before};
    gone.pair.modified = second + 3;
    return effect_of(key, queue.keys, claim, gone);
  };
  EXPECT_EQ(effect(true, second, queue.claim(3)), Effect::granted);
  EXPECT_EQ(effect(false, second, queue.claim(3)), Effect::read_again) << "it was waiting itself";
  EXPECT_EQ(effect(true, second - 1, queue.claim(3)), Effect::read_again)
      << "that was another claim";
  EXPECT_EQ(effect(true, second, queue.claim(3, Mode::permit, 2)), Effect::read_again);
}

TEST(EtcdQueueTest, AnAbsentClaimDoesNotHold) {
  FakeQueue queue;
  EXPECT_EQ(queue.position(queue.claim(1)).state, State::absent);
  queue.add(queue.claim(2));
  EXPECT_EQ(queue.position(queue.claim(1)).state, State::absent);
}

TEST(EtcdQueueTest, WhoIsHiddenByNewerOnesAsksAgainWithItsRevision) {
  FakeQueue queue;
  queue.add(queue.claim(1));
  const Revision mine = queue.add(queue.claim(2));
  queue.add(queue.claim(3));
  queue.add(queue.claim(4));
  EXPECT_EQ(queue.position(queue.claim(2)).state, State::hidden);
  EXPECT_EQ(queue.position(queue.claim(2), mine).state, State::waits);
}

TEST(EtcdQueueTest, AForeignKeyIsExclusive) {
  FakeQueue queue;
  const Revision foreign = queue.add(queue.keys.base + "694d8c3e5b6f7a01", "");
  for (const Mode mode : {Mode::exclusive, Mode::shared, Mode::permit}) {
    const Claim claim = queue.claim(1, mode, 2);
    queue.add(claim);
    const Position position = queue.position(claim);
    EXPECT_EQ(position.state, State::waits) << mode_name(mode);
    ASSERT_EQ(position.predecessors.size(), 1U);
    EXPECT_EQ(position.predecessors[0].created, foreign);
    EXPECT_THAT(position.busy.holder, testing::HasSubstr("foreign"));
    queue.remove(claim);
  }
}

TEST(EtcdQueueTest, ReadersHoldTogetherAndWaitForTheNearestWriterBeforeThem) {
  FakeQueue queue;
  queue.add(queue.claim(1, Mode::shared));
  const Claim second = queue.claim(2, Mode::shared);
  queue.add(second);
  EXPECT_EQ(queue.position(second).state, State::holds);
  const Revision writer = queue.add(queue.claim(3));
  const Claim late = queue.claim(4, Mode::shared);
  const Revision mine = queue.add(late);
  const Position position = queue.position(late);
  EXPECT_EQ(position.state, State::waits);
  ASSERT_EQ(position.predecessors.size(), 1U);
  EXPECT_EQ(position.predecessors[0].created, writer);
  EXPECT_FALSE(position.predecessors[0].end_grants) << "it waits itself";
  EXPECT_EQ(queue.position(late, mine).state, State::waits);
}

TEST(EtcdQueueTest, AWriterBehindReadersWaitsForTheLastAndLooksAgain) {
  FakeQueue queue;
  queue.add(queue.claim(1, Mode::shared));
  const Revision last = queue.add(queue.claim(2, Mode::shared));
  queue.add(queue.claim(3));
  const Position position = queue.position(queue.claim(3));
  ASSERT_EQ(position.predecessors.size(), 1U);
  EXPECT_EQ(position.predecessors[0].created, last);
  EXPECT_FALSE(position.predecessors[0].end_grants);
  queue.remove(queue.claim(1, Mode::shared));
  EXPECT_TRUE(queue.position(queue.claim(3)).predecessors.at(0).end_grants);
}

TEST(EtcdQueueTest, AsManyPermitsHoldAsThereAre) {
  FakeQueue queue;
  for (std::uint8_t who = 1; who <= 4; ++who) queue.add(queue.claim(who, Mode::permit, 2));
  const auto position = [&](std::uint8_t who) {
    const Claim claim = queue.claim(who, Mode::permit, 2);
    return queue.position(claim, queue.position(claim).created);
  };
  EXPECT_EQ(position(1).state, State::holds);
  EXPECT_EQ(position(2).state, State::holds);
  const Position next = position(3);
  EXPECT_EQ(next.state, State::waits);
  EXPECT_EQ(next.predecessors.size(), 2U) << "whoever gives one back makes room";
  EXPECT_TRUE(next.predecessors[0].end_grants);
  const Position behind = position(4);
  ASSERT_EQ(behind.predecessors.size(), 1U);
  EXPECT_FALSE(behind.predecessors[0].end_grants);
}

TEST(EtcdQueueTest, AnotherNumberOfPermitsIsSeenByWhoComesLater) {
  FakeQueue queue;
  queue.add(queue.claim(1, Mode::permit, 3));
  const Claim other = queue.claim(2, Mode::permit, 4);
  queue.add(other);
  const Position refused = queue.position(other);
  EXPECT_EQ(refused.state, State::other_limit);
  EXPECT_EQ(refused.other_permits, 3U);
  EXPECT_EQ(queue.position(queue.claim(1, Mode::permit, 3)).state, State::holds);
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
