#include "engines/zookeeper/paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engines/zookeeper/node_data.h"

namespace holdfast::internal::zookeeper {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace): test code

Claim claim_of(Mode mode, std::uint32_t permits = 1, bool among_readers = false) {
  return Claim{.name = "x",
               .id = ClaimId({0x12, 0x34}),
               .mode = mode,
               .permits = permits,
               .among_readers = among_readers};
}

TEST(PathsTest, SimpleNamesAreThemselves) {
  for (const std::string name :
       {"jobs", "a b", "a:b,c=d", "{x}", "caf\xc3\xa9", "...", "zookeeper"}) {
    EXPECT_EQ(escaped_name(name, false), name);
  }
}

TEST(PathsTest, WhatAPathCannotHoldIsEscaped) {
  EXPECT_EQ(escaped_name("a/b", false), "a%2Fb");
  EXPECT_EQ(escaped_name("100%", false), "100%25");
  EXPECT_EQ(escaped_name(".", false), "%2E");
  EXPECT_EQ(escaped_name("..", false), "%2E%2E");
  EXPECT_EQ(escaped_name("a\n\0"s, false), "a%0A%00");
  EXPECT_EQ(escaped_name("\xff\xc3", false), "%FF%C3");
  EXPECT_EQ(escaped_name("\xc2\x85", false), "%C2%85") << "a control character";
  EXPECT_EQ(escaped_name("\xed\xa0\x80", false), "%ED%A0%80") << "a surrogate";
  EXPECT_EQ(escaped_name("\xf0\x9f\x94\x92", false), "%F0%9F%94%92") << "two surrogates in Java";
  EXPECT_EQ(escaped_name("\xc0\xaf", false), "%C0%AF") << "an overlong slash";
  EXPECT_EQ(escaped_name("zookeeper", true), "%7Aookeeper");
}

// It stands among the locks.
TEST(PathsTest, TheNodeOfTheRecordsIsNoLocks) {
  EXPECT_EQ(unescaped_name("%records"), std::nullopt);
  EXPECT_EQ(escaped_name("%records", false), "%25records");
}

TEST(PathsTest, EveryNameComesBack) {
  for (const std::string& name :
       {"a"s, "a/b"s, "."s, ".."s, "%"s, "%2F"s, "\0"s, "\xff"s, "zookeeper"s, "\xe2\x82\xac"s}) {
    for (const bool at_root : {false, true}) {
      EXPECT_EQ(unescaped_name(escaped_name(name, at_root))->bytes(), name);
    }
  }
  for (const std::string part : {"%", "%2", "%zz", "%2f", ""}) EXPECT_FALSE(unescaped_name(part));
}

TEST(ClaimNodeTest, OursSayWhoAndWhat) {
  const struct {
    Claim claim;
    bool kept;
    std::string prefix;
  } cases[] = {
      {claim_of(Mode::exclusive), false, "_c_12340000-0000-0000-0000-000000000000-hf-lock-"},
      {claim_of(Mode::exclusive, 1, true), false,
       "_c_12340000-0000-0000-0000-000000000000-hf-__WRIT__"},
      {claim_of(Mode::shared), false, "_c_12340000-0000-0000-0000-000000000000-hf-__READ__"},
      {claim_of(Mode::permit, 3), false,
       "_c_12340000-0000-0000-0000-000000000000-hf-permit-3-lock-"},
      {claim_of(Mode::exclusive), true, "_c_12340000-0000-0000-0000-000000000000-hf-kept-lock-"},
      {claim_of(Mode::permit, 3), true,
       "_c_12340000-0000-0000-0000-000000000000-hf-permit-3-kept-lock-"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(claim_node_prefix(one.claim, one.kept), one.prefix);
    const std::optional<ClaimNode> node = parse_claim_node(one.prefix + "0000000007");
    ASSERT_TRUE(node) << one.prefix;
    EXPECT_EQ(node->claim, one.claim.id) << one.prefix;
    EXPECT_EQ(node->mode, one.claim.mode) << one.prefix;
    EXPECT_EQ(node->permits, one.claim.mode == Mode::permit ? 3U : 0U);
    EXPECT_EQ(node->kept, one.kept);
    EXPECT_EQ(node->sequence, 7);
  }
}

TEST(ClaimNodeTest, OfOthersAreKnownByTheirEnds) {
  const struct {
    std::string name;
    Mode mode;
    std::int32_t sequence;
  } cases[] = {
      {"_c_2a0e8f0a-4c1d-4f5e-9a51-5d1b8f2f6c11-lock-0000000012", Mode::exclusive, 12},
      {"_c_2a0e8f0a-4c1d-4f5e-9a51-5d1b8f2f6c11-__READ__0000000012", Mode::shared, 12},
      {"_c_2a0e8f0a-4c1d-4f5e-9a51-5d1b8f2f6c11-__WRIT__0000000012", Mode::exclusive, 12},
      {"lock-0000000012", Mode::exclusive, 12},
      {"0123456789abcdef0123456789abcdef__lock__0000000012", Mode::exclusive, 12},
      {"0123456789abcdef0123456789abcdef__rlock__0000000012", Mode::shared, 12},
      {"n_0000000012", Mode::exclusive, 12},
      // After the largest number comes the smallest.
      {"lock-2147483647", Mode::exclusive, INT32_MAX},
      {"lock--2147483648", Mode::exclusive, INT32_MIN},
      {"lock--000000005", Mode::exclusive, -5},
      {"x__lock__-000000005", Mode::exclusive, -5},
  };
  for (const auto& one : cases) {
    const std::optional<ClaimNode> node = parse_claim_node(one.name);
    ASSERT_TRUE(node) << one.name;
    EXPECT_FALSE(node->claim) << one.name;
    EXPECT_EQ(node->mode, one.mode) << one.name;
    EXPECT_EQ(node->sequence, one.sequence) << one.name;
  }
  for (const std::string name : {"", "leases", "lock-", "lock-12", "lock-00000000xx", "a%2Fb"}) {
    EXPECT_FALSE(parse_claim_node(name)) << name;
  }
}

TEST(ClaimNodeTest, WhatOnlyBeginsLikeOursIsAnothers) {
  for (const std::string name :
       {"_c_12340000-0000-0000-0000-000000000000-hf-permit-0-lock-0000000001",
        "_c_12340000-0000-0000-0000-000000000000-hf-what-lock-0000000001",
        "_c_12340000+0000-0000-0000-000000000000-hf-lock-0000000001",
        "_c_12340000-0000-0000-0000-00000000000X-hf-lock-0000000001", "_c_-hf-lock-0000000001"}) {
    const std::optional<ClaimNode> node = parse_claim_node(name);
    ASSERT_TRUE(node) << name;
    EXPECT_FALSE(node->claim) << name;
    EXPECT_EQ(node->mode, Mode::exclusive) << name;
  }
}

TEST(ClaimNodeTest, AKeptNodeHasTheSamePlace) {
  for (const Claim& claim : {claim_of(Mode::exclusive), claim_of(Mode::shared),
                             claim_of(Mode::permit, 3), claim_of(Mode::exclusive, 1, true)}) {
    const std::string name = claim_node_prefix(claim, false) + "-000000005";
    const std::string kept = kept_name(claim, name);
    EXPECT_EQ(kept, claim_node_prefix(claim, true) + "-000000005");
    EXPECT_EQ(parse_claim_node(kept)->sequence, -5);
  }
}

TEST(NodeDataTest, WhatWasWrittenIsRead) {
  const NodeData data{.ttl = std::chrono::seconds(30),
                      .session = SessionKey{-7, "\x01\xff"},
                      .token = Token(42),
                      .held = true,
                      .label = "anna\nlabel=x"};
  const std::optional<NodeData> read = NodeData::parse(data.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ttl, data.ttl);
  EXPECT_EQ(read->session->id, -7);
  EXPECT_EQ(read->session->password, "\x01\xff");
  EXPECT_EQ(read->token, Token(42));
  EXPECT_TRUE(read->held);
  EXPECT_EQ(read->label, data.label);
}

TEST(NodeDataTest, WhatOthersWroteIsNotOurs) {
  EXPECT_FALSE(NodeData::parse("127.0.0.1"));
  EXPECT_FALSE(NodeData::parse(""));
  EXPECT_EQ(foreign_label("10.0.0.7"), "another program (10.0.0.7)");
}

}  // namespace
}  // namespace holdfast::internal::zookeeper
