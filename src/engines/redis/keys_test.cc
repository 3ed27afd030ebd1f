#include "engines/redis/keys.h"

#include <gtest/gtest.h>

#include <set>

namespace holdfast::internal::redis {
namespace {

TEST(RedisKeys, ATagPutsAChannelIntoItsSlot) {
  for (const std::string name : {"plain", "a{tag}b", "with space", "a}b", "{}", ""}) {
    const std::uint16_t slot = slot_of(name);
    EXPECT_EQ(slot_of("holdfast:0123:4567:" + slot_tag(slot)), slot) << name;
  }
}

// The slots were asked of a server with CLUSTER KEYSLOT.
TEST(RedisKeys, HashesAsTheServerDoes) {
  EXPECT_EQ(slot_of("123456789"), 12739);
  EXPECT_EQ(slot_of("foo"), 12182);
  EXPECT_EQ(slot_of("{user1000}.following"), slot_of("{user1000}.followers"));
  EXPECT_EQ(slot_of("foo{}{bar}"), 8363);
  EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
  EXPECT_EQ(slot_of("foo{bar}{zap}"), slot_of("bar"));
}

const std::vector<std::string> kNames{"jobs",
                                      "jobs:nightly",
                                      "{a}",
                                      "a{b}c",
                                      "a{b}c{d}",
                                      "}",
                                      "{",
                                      "{}",
                                      "a}b",
                                      "}{",
                                      "{}{a}",
                                      "{{a}}",
                                      "a{",
                                      "x:hf:",
                                      "{x}:hf:t2",
                                      "\xff{\x01",
                                      std::string("nul\0name", 8),
                                      "{12}",
                                      "a}:hf-t",
                                      std::string(10000, 'n'),
                                      std::string(10000, '}')};

std::vector<std::string> keys_of(const std::string& name) {
  const Keys keys(name);
  std::vector<std::string> all;
  for (std::size_t i = 0; i < keys.all.count(); ++i) all.emplace_back(keys.all.at(i));
  all.push_back(sibling_key(name, 'd'));  // its record
  return all;
}

TEST(RedisKeys, SiblingsAreInTheSlotOfTheWord) {
  for (const std::string& name : kNames) {
    for (const std::string& key : keys_of(name)) EXPECT_EQ(slot_of(key), slot_of(name)) << name;
  }
}

TEST(RedisKeys, NoTwoLocksShareAKey) {
  std::set<std::string> seen;
  for (const std::string& name : kNames) {
    for (const std::string& key : keys_of(name)) EXPECT_TRUE(seen.insert(key).second) << key;
  }
}

TEST(RedisKeys, ANameIsFoundBehindItsTokenKey) {
  for (const std::string& name : kNames) {
    const Keys keys(name);
    EXPECT_EQ(name_of_token_key(keys.all.at(1)), name);
    EXPECT_EQ(name_of_token_key(keys.all.at(2)), std::nullopt);
    EXPECT_EQ(name_of_token_key(name), std::nullopt);
    for (std::size_t i = 1; i < keys.all.count(); ++i)
      EXPECT_TRUE(looks_like_sibling(keys.all.at(i)));
    EXPECT_FALSE(looks_like_sibling(name)) << name;
  }
}

}  // namespace
}  // namespace holdfast::internal::redis
