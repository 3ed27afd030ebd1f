#include "lab/history.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <string>

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;

TEST(HistoryTest, AnEventSurvivesItsLine) {
  const Event event{.at = BootTime(123456789ns),
                    .who = "A",
                    .kind = EventKind::wrote,
                    .resource = "ABAB/full/register",
                    .token = ~std::uint64_t{0},
                    .value = -3,
                    .text = "\"quoted\"\n",
                    .shared = true};
  const std::string line = to_line(event);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(parse_event(line), event);
}

TEST(HistoryTest, EveryKindHasANameOfItsOwn) {
  for (int i = 0; i <= static_cast<int>(EventKind::stranded); ++i) {
    const auto kind = static_cast<EventKind>(i);
    EXPECT_EQ(event_kind(event_name(kind)), kind) << i;
  }
  EXPECT_FALSE(event_kind("?"));
}

TEST(HistoryTest, WhatIsNoEventIsRefused) {
  for (const char* line : {"", "{}", "[1]", "{\"at\":1,\"who\":\"A\",\"event\":\"danced\"}",
                           "{\"at\":\"x\",\"who\":\"A\",\"event\":\"asked\"}", "{\"at\":1"}) {
    EXPECT_FALSE(parse_event(line)) << line;
  }
}

TEST(HistoryTest, AResourceSurvivesItsName) {
  const auto id = ResourceId::parse("some/sheet/writes/log");
  ASSERT_TRUE(id);
  EXPECT_EQ(id->sheet, "some/sheet");
  EXPECT_EQ(id->fence, Fence::writes_only);
  EXPECT_TRUE(id->log);
  EXPECT_EQ(id->text(), "some/sheet/writes/log");
  for (const char* text : {"", "x", "a/b", "a/half/log", "a/full/heap", "/log"}) {
    EXPECT_FALSE(ResourceId::parse(text)) << text;
  }
}

TEST(HistoryTest, AFileIsReadInTheOrderOfTimeAndACutLineIsLeftOut) {
  std::string folder = "/tmp/holdfast-history-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::filesystem::path path = std::filesystem::path(folder) / "history";
  {
    HistoryFile file(path);
    file.add({.at = BootTime(2s), .who = "B", .kind = EventKind::asked});
    file.add({.at = BootTime(1s), .who = "A", .kind = EventKind::asked});
    file.add({.who = "C", .kind = EventKind::asked});  // now
  }
  std::ofstream(path, std::ios::app) << "{\"at\":3,\"who\":";
  const History history = read_history(path);
  ASSERT_EQ(history.size(), 3U);
  EXPECT_EQ(history[0].who, "A");
  EXPECT_EQ(history[1].who, "B");
  EXPECT_GT(history[2].at, BootTime());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace holdfast::lab
