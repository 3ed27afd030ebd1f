#include "engines/etcd/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/protobuf.h"

namespace holdfast::internal::etcd {
namespace {

std::string header(Revision revision, std::uint64_t term) {
  return ProtoWriter()
      .number(2, 7)
      .number(3, revision)
      .number(4, static_cast<std::int64_t>(term))
      .take();
}

std::string pair(std::string_view key, Revision created, LeaseId lease = 0) {
  return ProtoWriter()
      .bytes(1, key)
      .number(2, created)
      .number(3, created)
      .bytes(5, "value")
      .number(6, lease)
      .take();
}

TEST(ProtobufTest, NumbersAreReadAsTheyWereWritten) {
  for (const std::int64_t number : {std::int64_t{1}, std::int64_t{127}, std::int64_t{128},
                                    INT64_MAX, INT64_MIN, std::int64_t{-1}}) {
    const std::string bytes = ProtoWriter().number(3, number).take();
    ProtoReader in(bytes);
    ASSERT_TRUE(in.next());
    EXPECT_EQ(in.field(), 3);
    EXPECT_EQ(in.number(), number);
    EXPECT_FALSE(in.next());
    EXPECT_TRUE(in.sound());
  }
}

TEST(ProtobufTest, EveryCutOfAMessageIsReadWithoutHarm) {
  const std::string whole =
      ProtoWriter().number(1, 300).bytes(2, "some bytes").message(64, "").take();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ProtoReader in(std::string_view(whole).substr(0, size));
    while (in.next()) {
    }
  }
  ProtoReader cut(std::string_view(whole).substr(0, 6));
  while (cut.next()) {
  }
  EXPECT_FALSE(cut.sound()) << "a field that is longer than what is there";
}

TEST(ProtobufTest, AFieldWithoutANumberOrOfAnUnknownKindIsRefused) {
  for (const char* bytes : {"\x02\x01x", "\x0b", "\x0f"}) {
    ProtoReader in(bytes);
    EXPECT_FALSE(in.next());
    EXPECT_FALSE(in.sound());
  }
}

// The bytes as etcd's own Go client sends them.
TEST(EtcdMessagesTest, AComparisonWithZeroSaysSo) {
  const std::string txn = Txn().if_created_at("k", 0).encode();
  EXPECT_EQ(txn, std::string("\x0a\x07\x10\x01\x1a\x01k\x28\x00", 9));
  const std::string range = Txn().if_created_at("k", 0, "l").encode();
  EXPECT_EQ(range, std::string("\x0a\x0b\x10\x01\x1a\x01k\x28\x00\x82\x04\x01l", 13));
}

TEST(EtcdMessagesTest, AComparisonWithNoBytesSaysSo) {
  const std::string bytes = Txn().if_value("k", "").encode();
  EXPECT_NE(bytes.find(std::string("\x10\x03\x1a\x01k\x3a\x00", 7)), std::string::npos);
}

TEST(EtcdMessagesTest, ATransactionsAnswerIsReadPartByPart) {
  const std::string range =
      ProtoWriter().message(2, pair("a", 5, 9)).message(2, pair("b", 6)).number(4, 2).take();
  const std::string deleted = ProtoWriter().number(2, 1).take();
  const std::string bytes = ProtoWriter()
                                .message(1, header(12, 3))
                                .number(2, 1)
                                .message(3, ProtoWriter().message(2, "").take())
                                .message(3, ProtoWriter().message(1, range).take())
                                .message(3, ProtoWriter().message(3, deleted).take())
                                .take();
  const std::optional<TxnAnswer> answer = decode_txn(bytes);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->succeeded);
  EXPECT_EQ(answer->header.revision, 12);
  EXPECT_EQ(answer->header.term, 3U);
  ASSERT_EQ(answer->parts.size(), 3U);
  EXPECT_EQ(answer->first(0), nullptr);
  ASSERT_EQ(answer->parts[1].pairs.size(), 2U);
  EXPECT_EQ(answer->first(1)->key, "a");
  EXPECT_EQ(answer->first(1)->created, 5);
  EXPECT_EQ(answer->first(1)->lease, 9);
  EXPECT_EQ(answer->parts[1].count, 2);
  EXPECT_EQ(answer->first(99), nullptr);
}

TEST(EtcdMessagesTest, AWatchTellsItsEvents) {
  const std::string put = ProtoWriter().message(2, pair("a", 5)).take();
  const std::string removed = ProtoWriter().number(1, 1).message(2, pair("a", 0)).take();
  const std::string bytes = ProtoWriter()
                                .message(1, header(12, 3))
                                .number(2, 4)
                                .message(11, put)
                                .message(11, removed)
                                .take();
  const std::optional<WatchAnswer> answer = decode_watch(bytes);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->id, 4);
  ASSERT_EQ(answer->events.size(), 2U);
  EXPECT_FALSE(answer->events[0].removed);
  EXPECT_TRUE(answer->events[1].removed);
  EXPECT_FALSE(answer->cancelled);
}

TEST(EtcdMessagesTest, ARemovalShowsWhatWasRemoved) {
  const std::string pair = ProtoWriter().bytes(1, "x/1").number(2, 7).number(3, 9).take();
  const auto removed =
      decode_remove(ProtoWriter().message(1, "").number(2, 1).message(3, pair).take());
  ASSERT_TRUE(removed);
  ASSERT_EQ(removed->size(), 1U);
  EXPECT_EQ(removed->front().key, "x/1");
  EXPECT_EQ(removed->front().created, 7);
  EXPECT_TRUE(decode_remove(ProtoWriter().message(1, "").take())->empty()) << "nothing was there";
}

TEST(EtcdMessagesTest, ALeaseThatIsGoneHasNoTime) {
  const std::optional<LeaseAnswer> gone = decode_lease(ProtoWriter().number(2, 4).take());
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->ttl_s, 0);
  const std::optional<LeaseAnswer> ended =
      decode_lease(ProtoWriter().number(2, 4).number(3, -1).take());
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->ttl_s, -1);
}

TEST(EtcdMessagesTest, GarbageIsRefused) {
  for (const char* bytes : {"\x0a\x05xx", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x03"}) {
    EXPECT_FALSE(decode_txn(bytes)) << testing::PrintToString(bytes);
    EXPECT_FALSE(decode_watch(bytes));
    EXPECT_FALSE(decode_lease(bytes));
    EXPECT_FALSE(decode_range(bytes));
    EXPECT_FALSE(decode_remove(bytes));
    EXPECT_FALSE(decode_authenticate(bytes));
  }
}

}  // namespace
}  // namespace holdfast::internal::etcd
