#include "top/glyphs.h"

#include <gtest/gtest.h>

namespace holdfast::cli::top {
namespace {

std::string shown(const std::string& text, Charset charset = Charset::utf8) {
  std::string all;
  Glyphs glyphs(text, charset);
  while (const auto glyph = glyphs.next())
    all += glyph->text + "/" + std::to_string(glyph->columns) + " ";
  return all;
}

TEST(GlyphsTest, EastAsianAndEmojiTakeTwoColumnsAndMarksNone) {
  EXPECT_EQ(shown("aé日"), "a/1 é/1 日/2 ");
  EXPECT_EQ(shown("\U0001F512\U00020000"), "\U0001F512/2 \U00020000/2 ");
  EXPECT_EQ(shown("e\u0301x"), "e\u0301/1 x/1 ");
  EXPECT_EQ(columns_of(U'\uAC00'), 2);
  EXPECT_EQ(columns_of(U'\uFF01'), 2);
  EXPECT_EQ(columns_of(U'\uFF61'), 1);  // half width
  EXPECT_EQ(columns_of(U'\u0627'), 1);
}

TEST(GlyphsTest, AMarkWithNothingBeforeItGetsABlank) { EXPECT_EQ(shown("\u0301"), " \u0301/1 "); }

TEST(GlyphsTest, NoMoreThanThreeMarksAreDrawnOverACharacter) {
  std::string text = "z";
  for (int i = 0; i < 50; ++i) text += "\u0301";
  EXPECT_EQ(shown(text + "y"), "z\u0301\u0301\u0301/1 y/1 ");
}

TEST(GlyphsTest, BytesThatActOnATerminalAreShownAsNumbers) {
  EXPECT_EQ(shown("\x1b["), "\\/1 x/1 1/1 B/1 [/1 ");
  EXPECT_EQ(shown("\u202e"), "\\/1 x/1 E/1 2/1 \\/1 x/1 8/1 0/1 \\/1 x/1 A/1 E/1 ");
  EXPECT_EQ(shown("\xff"), "\\/1 x/1 F/1 F/1 ");
}

TEST(GlyphsTest, InAsciiOtherCharactersAreShownByTheirNumber) {
  EXPECT_EQ(shown("é", Charset::ascii), "\\/1 u/1 {/1 E/1 9/1 }/1 ");
}

TEST(GlyphsTest, OnlyWhatEveryTerminalDrawsAlikeIsSure) {
  const auto sure = [](const char* text) { return Glyphs(text, Charset::utf8).next()->sure; };
  EXPECT_TRUE(sure("a"));
  EXPECT_TRUE(sure("é"));
  EXPECT_TRUE(sure("\u2588"));
  EXPECT_FALSE(sure("\u65e5"));
  EXPECT_FALSE(sure("a\u0301"));
  EXPECT_FALSE(sure("\U0001F512"));
}

TEST(GlyphsTest, TheFirstVariableThatIsSetNamesTheLocale) {
  EXPECT_EQ(charset_of(nullptr, nullptr, "en_US.UTF-8"), Charset::utf8);
  EXPECT_EQ(charset_of("", "de_DE.utf8", "C"), Charset::utf8);
  EXPECT_EQ(charset_of("C", "de_DE.utf8", "de_DE.utf8"), Charset::ascii);
  EXPECT_EQ(charset_of(nullptr, nullptr, "de_DE@euro"), Charset::ascii);
  EXPECT_EQ(charset_of(nullptr, nullptr, nullptr), Charset::ascii);
}

}  // namespace
}  // namespace holdfast::cli::top
