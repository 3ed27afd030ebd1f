#include "top/painter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "screen.h"

namespace holdfast::cli::top {
namespace {

Frame frame_of(const std::vector<std::string>& texts, int columns = 20) {
  Frame frame{{columns, static_cast<int>(texts.size())}, {}, {}};
  for (const std::string& text : texts)
    frame.lines.emplace_back(columns, Charset::utf8).put(0, text);
  return frame;
}

// Where the bar that ends a text stands: on the screen for which every character takes one column, and in the frame.
long column_in(const std::string& row) {
  const std::string before = row.substr(0, row.rfind('|'));
  const long marks = std::ranges::count(before, '\xcc');
  return std::ranges::count_if(before, [](char c) { return (c & 0xC0) != 0x80; }) - marks;
}
long column_in(const Line& line) {
  const auto& cells = line.cells();
  return std::ranges::find(cells, "|", &Cell::text) - cells.begin();
}

TEST(PainterTest, AnUnchangedFrameWritesNothingOfIt) {
  Painter painter(true);
  EXPECT_NE(painter.paint(frame_of({"one", "two"})).find("one"), std::string::npos);
  EXPECT_EQ(painter.paint(frame_of({"one", "two"})), "\x1b[?25l");
}

TEST(PainterTest, OnlyWhatHasChangedIsWritten) {
  Painter painter(true);
  painter.paint(frame_of({"held 10s", "two"}));
  EXPECT_EQ(painter.paint(frame_of({"held 11s", "two"})), "\x1b[?25l\x1b[1;7H1");
  painter.forget();
  EXPECT_NE(painter.paint(frame_of({"held 11s", "two"})).find("two"), std::string::npos);
}

TEST(PainterTest, WithoutColourThereAreOnlyBoldAndReverse) {
  Frame frame = frame_of({""});
  frame.lines[0].put(0, "x", {.colour = Colour::red, .bold = true, .dim = true, .reverse = true});
  EXPECT_NE(Painter(false).paint(frame).find("\x1b[0;1;7mx"), std::string::npos);
  EXPECT_NE(Painter(true).paint(frame).find("\x1b[0;1;2;7;31mx"), std::string::npos);
}

// The screen shows the last frame, whichever frames were before it; also on a terminal for which wide characters are
// narrow, except for the characters themselves.
TEST(PainterTest, TheScreenShowsTheLastFrame) {
  const std::vector<std::string> parts = {
      "",  "a",        "held 12s",     "日本",
      "é", "e\u0301 ", "\u2588\u2591", "long enough to be cut somewhere"};
  for (unsigned seed = 1; seed <= 100; ++seed) {
    std::mt19937 random(seed);
    Painter painter(true);
    test::Screen screen(24, 3);
    test::Screen narrow(24, 3, false);
    for (int i = 0; i < 20; ++i) {
      std::vector<std::string> texts;
      for (int row = 0; row < 3; ++row)
        texts.push_back(parts[random() % parts.size()] + parts[random() % parts.size()] + "|");
      const Frame frame = frame_of(texts, 24);
      const std::string written = painter.paint(frame);
      screen.write(written);
      narrow.write(written);
      for (std::size_t row = 0; row < 3; ++row) {
        EXPECT_EQ(screen.row(row), frame.lines[row].text()) << "seed " << seed;
        if (!frame.lines[row].text().ends_with('|')) continue;
        EXPECT_EQ(column_in(narrow.row(row)), column_in(frame.lines[row])) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::cli::top
