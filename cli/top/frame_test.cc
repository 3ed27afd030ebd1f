#include "top/frame.h"

#include <gtest/gtest.h>

namespace holdfast::cli::top {
namespace {

std::string put(int width, const std::string& text, Charset charset = Charset::utf8) {
  Line line(width, charset);
  line.put(0, text);
  EXPECT_EQ(line.columns(), width);
  return line.text();
}

TEST(LineTest, TextThatIsTooLongIsCutWithAMark) {
  EXPECT_EQ(put(5, "abcde"), "abcde");
  EXPECT_EQ(put(5, "abcdef"), "abcd…");
  EXPECT_EQ(put(5, "abcdef", Charset::ascii), "abcd~");
  EXPECT_EQ(put(1, "ab"), "…");
  EXPECT_EQ(put(0, "ab"), "");
}

TEST(LineTest, AWideCharacterIsNeverCutInHalf) {
  EXPECT_EQ(put(4, "日本"), "日本");
  EXPECT_EQ(put(4, "日本語"), "日…");
  EXPECT_EQ(put(3, "日本"), "日…");
  EXPECT_EQ(put(2, "日本"), "…");
  EXPECT_EQ(put(1, "日"), "…");
}

TEST(LineTest, NothingLeavesItsColumns) {
  Line line(12, Charset::utf8);
  line.put(0, "xxxxxxxxxxxx");
  EXPECT_EQ(line.put(2, 4, std::string(16384, 'y')), 6);
  EXPECT_EQ(line.put(10, 99, "zzzz"), 12);
  EXPECT_EQ(line.put(12, 5, "outside"), 12);
  EXPECT_EQ(line.put(-3, 5, "outside"), -3);
  EXPECT_EQ(line.text(), "xxyyy…xxxxz…");
}

TEST(LineTest, NumbersStandAtTheRight) {
  Line line(8, Charset::ascii);
  line.put(0, 5, "42", {}, Align::right);
  EXPECT_EQ(line.text(), "   42");
}

TEST(LineTest, ABarShowsSomethingUntilNothingIsLeft) {
  const auto bar = [](double full, Charset charset) {
    Line line(4, charset);
    line.bar(0, 4, full, {});
    return line.text();
  };
  EXPECT_EQ(bar(1, Charset::utf8), "████");
  EXPECT_EQ(bar(0.5, Charset::ascii), "##..");
  EXPECT_EQ(bar(0.001, Charset::ascii), "#...");
  EXPECT_EQ(bar(0, Charset::ascii), "....");
}

}  // namespace
}  // namespace holdfast::cli::top
