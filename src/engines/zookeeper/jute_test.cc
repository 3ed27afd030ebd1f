#include "engines/zookeeper/jute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::internal::zookeeper {
namespace {

using testing::ElementsAre;

TEST(JuteTest, WhatWasWrittenIsRead) {
  std::string bytes;
  JuteWriter writer(bytes);
  writer.int32(-2);
  writer.int64(INT64_C(0x0102030405060708));
  writer.boolean(true);
  writer.bytes(std::string("a\0b", 3));
  writer.strings({"x", "", "zz"});
  JuteReader reader(bytes);
  EXPECT_EQ(reader.int32(), -2);
  EXPECT_EQ(reader.int64(), INT64_C(0x0102030405060708));
  EXPECT_TRUE(reader.boolean());
  EXPECT_EQ(reader.bytes(), std::string("a\0b", 3));
  EXPECT_THAT(reader.strings(), ElementsAre("x", "", "zz"));
  EXPECT_TRUE(reader.done());
}

TEST(JuteTest, NumbersAreBigEndian) {
  std::string bytes;
  JuteWriter(bytes).int32(0x01020304);
  EXPECT_EQ(bytes, "\x01\x02\x03\x04");
}

TEST(JuteTest, WhatIsCutIsNotSoundAndEverythingAfterItIsEmpty) {
  JuteReader reader(std::string_view("\0\0\0\5ab", 6));
  EXPECT_EQ(reader.bytes(), "");
  EXPECT_FALSE(reader.sound());
  EXPECT_EQ(reader.int32(), 0);
  EXPECT_FALSE(reader.boolean());
  EXPECT_FALSE(reader.done());
}

TEST(JuteTest, JavasNullIsEmptyAndOtherNegativeLengthsMakeNoSense) {
  JuteReader null(std::string_view("\xff\xff\xff\xff", 4));
  EXPECT_EQ(null.bytes(), "");
  EXPECT_TRUE(null.done());
  JuteReader negative(std::string_view("\xff\xff\xff\xfe", 4));
  negative.bytes();
  EXPECT_FALSE(negative.sound());
}

TEST(JuteTest, ACountThatCannotBeCostsNoMemory) {
  JuteReader reader(std::string_view("\x7f\xff\xff\xff\0\0\0\0", 8));
  EXPECT_TRUE(reader.strings().empty());
  EXPECT_FALSE(reader.sound());
}

TEST(PacketCutterTest, CutsAtAnyPlaces) {
  std::string bytes;
  for (const std::string packet : {"one", "", "three"}) JuteWriter(bytes).bytes(packet);
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    PacketCutter cutter;
    std::vector<std::string> packets;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      ASSERT_TRUE(cutter.feed(std::string_view(bytes).substr(at, piece),
                              [&](std::string_view packet) { packets.emplace_back(packet); }));
    }
    EXPECT_THAT(packets, ElementsAre("one", "", "three")) << piece;
  }
}

TEST(PacketCutterTest, RefusesLengthsThatCannotBe) {
  for (const std::string_view bytes :
       {std::string_view("\xff\xff\xff\xff", 4), std::string_view("HTTP/1.1 400", 12)}) {
    PacketCutter cutter;
    EXPECT_FALSE(cutter.feed(bytes, [](std::string_view) { FAIL(); }));
  }
}

}  // namespace
}  // namespace holdfast::internal::zookeeper
