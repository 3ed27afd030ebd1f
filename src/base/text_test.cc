#include "base/text.h"

#include <gtest/gtest.h>

#include "holdfast/ids.h"
#include "holdfast/result.h"

namespace holdfast {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace): test code
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

TEST(TextTest, HexGoesThereAndBack) {
  const std::array<std::uint8_t, 4> bytes{0x00, 0x7F, 0x80, 0xFF};
  EXPECT_EQ(to_hex(bytes), "007f80ff");
  EXPECT_EQ(bytes_from_hex("007f80FF"), "\x00\x7F\x80\xFF"s);
  EXPECT_EQ(bytes_from_hex(""), "");
}

TEST(TextTest, WhatIsNotHexIsRefused) {
  for (const char* bad : {"0", "0g", "g0", " 0", "0x", "00 ", "-1"}) {
    EXPECT_FALSE(bytes_from_hex(bad).has_value()) << bad;
  }
}

TEST(TextTest, PrintableTextStaysAndTheRestIsEscaped) {
  EXPECT_EQ(printable("plain / {text} 'n more", 100), "plain / {text} 'n more");
  EXPECT_EQ(printable("a\nb\0c\x1b\x7f"s, 100), "a\\x0Ab\\x00c\\x1B\\x7F");
  EXPECT_EQ(printable("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\x92", 100),
            "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\x92");
}

TEST(TextTest, MalformedUtf8IsEscapedByteForByte) {
  EXPECT_EQ(printable("\xff", 100), "\\xFF");
  EXPECT_EQ(printable("\xc3", 100), "\\xC3");                             // cut short
  EXPECT_EQ(printable("\xc3(", 100), "\\xC3(");                           // no continuation
  EXPECT_EQ(printable("\xc0\xaf", 100), "\\xC0\\xAF");                    // overlong
  EXPECT_EQ(printable("\xe0\x80\xaf", 100), "\\xE0\\x80\\xAF");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80", 100), "\\xED\\xA0\\x80");           // surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80", 100), "\\xF4\\x90\\x80\\x80");  // beyond Unicode
  EXPECT_EQ(printable("\xc2\x85", 100), "\\xC2\\x85");                    // a control character
}

// Each would change what a reader sees around it, or where it is.
TEST(TextTest, InvisibleAndReorderingCharactersAreEscaped) {
  for (const char* sly : {"\u00ad", "\u061c", "\u200b", "\u200d", "\u200e", "\u200f", "\u2028",
                          "\u2029", "\u202a", "\u202e", "\u2060", "\u2066", "\u2069", "\ufeff",
                          "\ufff9", "\uffff", "\U000e0041", "\u0085", "\u009b"}) {
    const std::string shown = printable(sly);
    EXPECT_EQ(shown.substr(0, 2), "\\x") << shown;
    EXPECT_EQ(shown.size(), 4 * std::string(sly).size()) << shown;
    EXPECT_EQ(printable(shown), shown);
  }
}

TEST(TextTest, AMessageIsOneSafeLine) {
  const Failure failure(Code::unreachable, "the server says \x1b]0;x\a\r\n\u202e\xff \u00e9\u2026");
  EXPECT_EQ(failure.message(),
            "the server says \\x1B]0;x\\x07\\x0D\\x0A\\xE2\\x80\\xAE\\xFF \u00e9\u2026");
  EXPECT_STREQ(LockError(failure).what(), failure.message().c_str());
  const Failure longer(Code::unreachable, std::string(1'000'000, 'x'));
  EXPECT_LT(longer.message().size(), 5000U);
}

TEST(TextTest, TheLabelOfTheHolderIsPrintable) {
  const Failure busy = Failure::busy({.lock = "x", .holder = "\x1b[2J", .expires_in = {}});
  EXPECT_EQ(busy.busy()->holder, "\\x1B[2J");
  EXPECT_EQ(busy.message(), "'x' is held by \\x1B[2J");
}

TEST(TextTest, LongTextIsCutAndSaysSo) {
  const std::string cut = printable(std::string(1000, 'x'), 10);
  EXPECT_EQ(cut, "xxxxxxxxxx... (1000 bytes)");
  EXPECT_EQ(printable(std::string(10, 'x'), 10), std::string(10, 'x'));
}

TEST(TextTest, DurationsReadWell) {
  EXPECT_EQ(duration_text(1500ms), "1.5 s");
  EXPECT_EQ(duration_text(20ms), "20 ms");
  EXPECT_EQ(duration_text(3min), "3.0 min");
  EXPECT_EQ(duration_text(Duration(0)), "0 us");
}

TEST(IdsTest, AClaimIdGoesThroughHexAndBack) {
  ClaimId id({1, 2, 3, 255});
  EXPECT_EQ(id.hex().size(), 32U);
  EXPECT_EQ(ClaimId::from_hex(id.hex()), id);
  EXPECT_FALSE(ClaimId::from_hex("00").has_value());
  EXPECT_FALSE(ClaimId::from_hex(id.hex() + "00").has_value());
  EXPECT_FALSE(ClaimId::from_hex(std::string(32, 'g')).has_value());
}

TEST(IdsTest, ANameIsOneTo16384Bytes) {
  EXPECT_TRUE(Name::problem_with("").has_value());
  EXPECT_FALSE(Name::problem_with("x").has_value());
  EXPECT_FALSE(Name::problem_with(std::string(16'384, 'x')).has_value());
  EXPECT_TRUE(Name::problem_with(std::string(16'385, 'x')).has_value());
  EXPECT_THROW(Name(""), LockError);
  EXPECT_EQ(Name("a\0b"s).bytes().size(), 3U);
  EXPECT_NE(Name("a\0b"s), Name("a\0c"s));
}

TEST(ResultTest, FourOutcomesAreToldApart) {
  EXPECT_EQ(Result<int>(1).outcome(), Outcome::granted);
  EXPECT_EQ(Result<int>(Failure::busy({})).outcome(), Outcome::busy);
  EXPECT_EQ(Result<int>(Failure(Code::unknown, "")).outcome(), Outcome::unknown);
  EXPECT_EQ(Result<int>(Failure(Code::unreachable, "")).outcome(), Outcome::error);
  EXPECT_EQ(Result<void>().outcome(), Outcome::granted);
  EXPECT_THROW(static_cast<void>(Result<int>(Failure(Code::closed, "")).value()), LockError);
}

}  // namespace
}  // namespace holdfast
