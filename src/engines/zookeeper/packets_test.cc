#include "engines/zookeeper/packets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::internal::zookeeper {
namespace {

using testing::ElementsAre;

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

std::string stat_bytes(std::int64_t czxid, std::int32_t version) {
  std::string bytes;
  JuteWriter writer(bytes);
  for (const std::int64_t value : {czxid, czxid + 1, INT64_C(1000), INT64_C(2000)}) {
    writer.int64(value);
  }
  for (const std::int32_t value : {version, 0, 0}) writer.int32(value);
  writer.int64(77);
  writer.int32(0);
  writer.int32(0);
  writer.int64(czxid);
  return bytes;
}

TEST(RequestsTest, AreNumberedInOneWrite) {
  Requests requests;
  requests.get_children("/a", false);
  requests.remove("/b", 3);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(hex(std::move(requests).numbered(5)),
            "0000000f"                // a packet of 15 bytes
            "0000000500000008"        // number 5, getChildren
            "000000022f6100"          // "/a", without a watch
            "00000012"                // a packet of 18 bytes
            "0000000600000002"        // number 6, delete
            "000000022f6200000003");  // "/b", version 3
}

TEST(RequestsTest, ATransactionEndsWithAMark) {
  Requests requests;
  {
    Requests::Transaction transaction(requests);
    transaction.check("/a", 0);
  }
  EXPECT_EQ(hex(std::move(requests).numbered(1)),
            "00000024"
            "000000010000000e"      // number 1, multi
            "0000000d00ffffffff"    // check
            "000000022f6100000000"  // "/a", version 0
            "ffffffff01ffffffff");  // the end
}

TEST(ReplyTest, CreatedNodesHaveAPathAndAStat) {
  std::string record;
  JuteWriter(record).bytes("/x/n0000000001");
  record += stat_bytes(42, 0);
  const std::optional<Reply> reply = parse_reply(Op::create2, Error::none, record);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->path, "/x/n0000000001");
  EXPECT_EQ(reply->stat->czxid, 42);
  EXPECT_EQ(reply->stat->owner, 77);
  EXPECT_FALSE(parse_reply(Op::create2, Error::none, record.substr(0, record.size() - 1)));
}

TEST(ReplyTest, AnErrorHasNoRecord) {
  const std::optional<Reply> reply = parse_reply(Op::get_data, Error::no_node, {});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->error, Error::no_node);
}

TEST(ReplyTest, AFailedTransactionSaysWhichStepFailed) {
  std::string record;
  JuteWriter writer(record);
  const auto step = [&](std::int32_t error) {
    writer.int32(-1);
    writer.boolean(false);
    writer.int32(error);
    writer.int32(error);
  };
  step(0);
  step(-101);
  step(-2);
  writer.int32(-1);
  writer.boolean(true);
  writer.int32(-1);
  const std::optional<Reply> reply = parse_reply(Op::multi, Error::none, record);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->error, Error::no_node);
  EXPECT_THAT(reply->steps, ElementsAre(Error::runtime_inconsistency, Error::no_node,
                                        Error::runtime_inconsistency));
  EXPECT_FALSE(parse_reply(Op::multi, Error::none, record.substr(0, 10)));
}

TEST(ReplyTest, ASuccessfulTransactionHasNoErrors) {
  std::string record;
  JuteWriter writer(record);
  writer.int32(static_cast<std::int32_t>(Op::set_data));
  writer.boolean(false);
  writer.int32(0);
  record += stat_bytes(42, 1);
  writer.int32(static_cast<std::int32_t>(Op::remove));
  writer.boolean(false);
  writer.int32(0);
  writer.int32(-1);
  writer.boolean(true);
  writer.int32(-1);
  const std::optional<Reply> reply = parse_reply(Op::multi, Error::none, record);
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->ok());
  EXPECT_THAT(reply->steps, ElementsAre(Error::none, Error::none));
}

TEST(WatchEventTest, IsAboutANode) {
  std::string record;
  JuteWriter writer(record);
  writer.int32(2);
  writer.int32(3);
  writer.bytes("/x");
  const std::optional<WatchEvent> event = parse_event(record);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, WatchEvent::Type::deleted);
  EXPECT_EQ(event->path, "/x");
  EXPECT_FALSE(parse_event(record.substr(0, 9)));
}

TEST(GreetingTest, AsksForASessionAndIsWelcomed) {
  const std::string bytes = encode(Greeting{.timeout_ms = 30000, .password = {}});
  EXPECT_EQ(hex(bytes),
            "0000002d"
            "00000000"
            "0000000000000000"
            "00007530"
            "0000000000000000"
            "00000010"
            "00000000000000000000000000000000"
            "00");
  std::string packet;
  JuteWriter writer(packet);
  writer.int32(0);
  writer.int32(4000);
  writer.int64(99);
  writer.bytes("0123456789abcdef");
  writer.boolean(false);
  const std::optional<Welcome> welcome = parse_welcome(packet);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->timeout_ms, 4000);
  EXPECT_EQ(welcome->session, 99);
  EXPECT_EQ(welcome->password, "0123456789abcdef");
  // Servers before 3.4 do not say whether they are read-only.
  EXPECT_TRUE(parse_welcome(packet.substr(0, packet.size() - 1)));
  EXPECT_FALSE(parse_welcome(packet.substr(0, 20)));
}

}  // namespace
}  // namespace holdfast::internal::zookeeper
