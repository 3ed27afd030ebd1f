#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "holdfast/lease.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

Handle sample() {
  return Handle(Hold{Claim{.name = Name(std::string("a\0 b/\xff", 6)),
                           .id = ClaimId({1, 2, 3}),
                           .mode = Mode::permit,
                           .permits = 7,
                           .ttl = 90s},
                     Token(UINT64_MAX)});
}

TEST(HandleTest, AHandleGoesThroughTextAndBack) {
  const Handle handle = sample();
  const Result<Handle> parsed = Handle::parse(handle.text());
  ASSERT_TRUE(parsed);
  const Claim& claim = parsed->hold().claim;
  EXPECT_EQ(claim.name, handle.hold().claim.name);
  EXPECT_EQ(claim.id, handle.hold().claim.id);
  EXPECT_EQ(claim.mode, Mode::permit);
  EXPECT_EQ(claim.permits, 7U);
  EXPECT_EQ(claim.ttl, 90s);
  EXPECT_TRUE(claim.outlives_process);
  EXPECT_EQ(parsed->hold().token, Token(UINT64_MAX));
}

TEST(HandleTest, ItsTextIsOneWordThatNoShellMinds) {
  EXPECT_THAT(sample().text(), testing::MatchesRegex("[a-zA-Z0-9._-]+"));
}

TEST(HandleTest, TextThatIsCutIsRefused) {
  const std::string text = sample().text();
  // A name that is cut in the middle is a shorter name; everything before it must be whole.
  const std::size_t name = text.rfind('.') + 1;
  for (std::size_t size = 0; size <= name; ++size) {
    EXPECT_FALSE(Handle::parse(text.substr(0, size))) << text.substr(0, size);
  }
}

TEST(HandleTest, WhatIsNotAHandleIsRefused) {
  const std::string id(32, '0');
  for (const std::string& bad :
       {std::string(), std::string("x"), std::string("hf1"), std::string("hf1......"),
        "hf2.exclusive.1.1000000000.1." + id + ".78", "hf1.exclusive.1.1000000000.1." + id + ".",
        "hf1.exclusive.1.1000000000.1." + id + ".7",
        std::string("hf1.exclusive.1.1000000000.1.00.78"),
        "hf1.sometimes.1.1000000000.1." + id + ".78", "hf1.exclusive.x.1000000000.1." + id + ".78",
        "hf1.exclusive.1.1000000000.-1." + id + ".78",
        "hf1.exclusive.1.99999999999999999999.1." + id + ".78",
        "hf1.exclusive.1.1000000000.1." + id + ".78.78", "hf1.exclusive.1. 1.1." + id + ".78"}) {
    const Result<Handle> parsed = Handle::parse(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.code(), Code::invalid_argument);
  }
}

// Such a handle was never printed; renewing with it would end the hold, or overflow.
TEST(HandleTest, AnImpossibleTtlOrNumberOfPermitsIsRefused) {
  const std::string id(32, '0');
  for (const std::string numbers :
       {"1.0", "1.-5", "1.-9223372036854775808", "1.9223372036854775807", "0.1000000000"}) {
    EXPECT_FALSE(Handle::parse("hf1.permit." + numbers + ".1." + id + ".78")) << numbers;
  }
}

TEST(HandleTest, RandomBytesNeverCrashTheParser) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 dice(seed);
  const std::string good = sample().text();
  for (int i = 0; i < 5000; ++i) {
    std::string text = good;
    for (std::uint64_t change = dice() % 4 + 1; change > 0; --change) {
      text[dice() % text.size()] = static_cast<char>(dice());
    }
    if (const Result<Handle> parsed = Handle::parse(text)) {
      EXPECT_TRUE(Handle::parse(parsed->text()));
    }
  }
}

}  // namespace
}  // namespace holdfast
