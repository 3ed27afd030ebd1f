#include "engines/memcached/word.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace holdfast::internal::memcached {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using namespace std::string_literals;  // NOLINT(google-build-using-namespace)

TEST(MemcachedKeysTest, EveryKeyIsLegalAndNoTwoAreTheSame) {
  std::set<std::string> keys;
  const std::vector<std::string> names{"x",
                                       "x:hf:token",
                                       "x:hf:token:hf:token",
                                       " ",
                                       "a b",
                                       "a\r\n"s,
                                       "a\0"s,
                                       "\x7f",
                                       "hf:sha256:x",
                                       "hf:sha256:",
                                       std::string(141, 'k'),
                                       std::string(142, 'k'),
                                       "\xc3\xa9",
                                       std::string(16384, 'k')};
  for (const std::string& name : names) {
    const Keys both(std::string(kMaxPrefix, 'p'), name);
    for (const std::string& key : {both.word, both.token}) {
      EXPECT_TRUE(keys.insert(key).second) << Name(name).display();
      EXPECT_LE(key.size(), kMaxKey);
      EXPECT_TRUE(is_plain(key));
    }
  }
  EXPECT_EQ(Keys("p:", "x").word, "p:x");
  EXPECT_EQ(Keys("p:", "\xc3\xa9").word, "p:\xc3\xa9");
}

TEST(MemcachedWordTest, AWordIsReadAsItWasWritten) {
  for (const std::string& name : {"x"s, "a b"s, "\0\r\n "s, std::string(16384, ' ')}) {
    for (const std::string& label : {""s, "me on host 7"s, " \r\n\0"s}) {
      const Word word{ClaimId({1, 2, 255}), Token(UINT64_MAX), -5, name, label};
      const std::optional<Word> read = Word::parse(word.text());
      ASSERT_TRUE(read);
      EXPECT_EQ(read->claim, word.claim);
      EXPECT_EQ(read->token, word.token);
      EXPECT_EQ(read->since_us, word.since_us);
      EXPECT_EQ(read->name, word.name);
      EXPECT_EQ(read->label, word.label);
    }
  }
}

TEST(MemcachedWordTest, WhatIsNotAWordIsForeign) {
  const std::string claim = ClaimId({9}).hex();
  for (const std::string& text :
       {""s, "1"s, "hf1"s, "hf1 "s, "hf1 x 0 0 1 x "s, "hf1 " + claim, "hf1 " + claim + " 0 0 1",
        "hf1 " + claim + " 0 0 1 x", "hf1 " + claim + " 0 0 2 x ", "hf1 " + claim + " 0 0 0  ",
        "hf1 " + claim + " -1 0 1 x ", "hf1 " + claim + "  0 1 x ",
        "hf1 " + claim + " 0 0 99999999999999999999 x ", "hf2 " + claim + " 0 0 1 x ",
        "hf1 " + claim + " 0 0 16385 " + std::string(16385, 'k') + " "}) {
    EXPECT_FALSE(Word::parse(text)) << text.substr(0, 60);
  }
  EXPECT_TRUE(Word::parse("hf1 " + claim + " 0 0 1 x "));
}

TEST(MemcachedTtlTest, AsksForASecondMoreAndNeverForADate) {
  EXPECT_EQ(ItemTtl(2s).seconds, 3);
  EXPECT_EQ(ItemTtl(2s).sure, 2s);
  EXPECT_EQ(ItemTtl(2001ms).seconds, 4);
  EXPECT_EQ(ItemTtl(720h).seconds, 30 * 24 * 3600);
  EXPECT_EQ(ItemTtl(720h).sure, 720h - 1s);
  EXPECT_EQ(ItemTtl(720h - 1s).seconds, 30 * 24 * 3600);
  EXPECT_EQ(ItemTtl(720h - 1s).sure, 720h - 1s);
}

TEST(MemcachedTtlTest, WhatIsLeftIsWhatIsSure) {
  EXPECT_EQ(sure_time(31), 30s);
  EXPECT_EQ(sure_time(1), 0s);
  EXPECT_EQ(sure_time(0), 0s);
  EXPECT_EQ(sure_time(std::nullopt), 0s);
  EXPECT_LE(sure_time(UINT64_MAX), 720h);
}

}  // namespace
}  // namespace holdfast::internal::memcached
