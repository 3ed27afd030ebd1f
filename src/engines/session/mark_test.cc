#include "engines/session/mark.h"

#include <gtest/gtest.h>

namespace holdfast::internal::session {
namespace {

Key key_of(char fill) { return {.name = "n", .hash = std::string(32, fill), .lock = ""}; }

Claim claim_of(const std::string& label, Mode mode) {
  return {.name = Name("n"),
          .id = *ClaimId::from_hex("00112233445566778899aabbccddeeff"),
          .mode = mode,
          .label = label};
}

TEST(SessionMarkTest, SaysWhoWaitsForWhat) {
  const Claim claim = claim_of("host */ 1\xff", Mode::shared);
  const auto read = read_mark(mark_of(key_of('k'), claim) + "SELECT 1");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->key_hash, std::string(32, 'k'));
  EXPECT_EQ(read->waiter.id, claim.id);
  EXPECT_EQ(read->waiter.mode, Mode::shared);
  EXPECT_EQ(read->waiter.label, claim.label);
}

TEST(SessionMarkTest, ALabelMayBeMissingLongOrCutOffByTheServer) {
  const auto none = read_mark(mark_of(key_of('k'), claim_of("", Mode::exclusive)));
  ASSERT_TRUE(none);
  EXPECT_EQ(none->waiter.label, "");
  EXPECT_EQ(none->waiter.mode, Mode::exclusive);
  const std::string mark = mark_of(key_of('k'), claim_of(std::string(300, 'l'), Mode::exclusive));
  EXPECT_EQ(read_mark(mark)->waiter.label, std::string(kMaxLabel, 'l'));
  const auto cut = read_mark(mark.substr(0, mark.size() / 2));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->waiter.id, claim_of("", Mode::exclusive).id);
}

TEST(SessionMarkTest, OtherStatementsHaveNone) {
  for (const std::string text :
       {"", "SELECT 1", "/* holdfast", "/* holdfast ", "/* holdfast x y z */ SELECT 1",
        "/* holdfast 00 00112233445566778899aabbccddeeff x 00 */ SELECT 1"}) {
    EXPECT_FALSE(read_mark(text)) << text;
  }
}

// The pattern for LIKE begins every mark of that key, and of no other.
TEST(SessionMarkTest, IsFoundByItsBeginning) {
  const std::string mark = mark_of(key_of('k'), claim_of("l", Mode::exclusive));
  const auto begins = [&](std::string pattern) {
    pattern.pop_back();  // the %
    return mark.starts_with(pattern);
  };
  EXPECT_TRUE(begins(marked()));
  EXPECT_TRUE(begins(marked(key_of('k'))));
  EXPECT_FALSE(begins(marked(key_of('q'))));
}

}  // namespace
}  // namespace holdfast::internal::session
