#include "engines/memcached/reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace holdfast::internal::memcached {
namespace {

struct Parsed {
  std::vector<Reply> replies;
  std::string problem;
};

Parsed parse(std::string_view bytes, std::size_t piece) {
  Parsed parsed;
  ReplyParser parser;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    const auto keep = [&](Reply reply) { parsed.replies.push_back(std::move(reply)); };
    if (!parser.feed(bytes.substr(0, piece), keep, parsed.problem)) break;
  }
  return parsed;
}

TEST(MetaReplyTest, RepliesAreReadInWhateverPiecesTheyCome) {
  using namespace std::string_literals;  // NOLINT(google-build-using-namespace): test code
  const std::string bytes =
      "HD c7\r\nVA 5 t-1 c18446744073709551615\r\na\r\n\0b\r\nEN\r\nVA 0\r\n\r\nNS c0\r\n"
      "SERVER_ERROR out of memory\r\nkey=a%20b exp=-1 la=5\nEND\r\n"s;
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    const Parsed parsed = parse(bytes, piece);
    ASSERT_EQ(parsed.problem, "") << piece;
    ASSERT_EQ(parsed.replies.size(), 8U) << piece;
    EXPECT_TRUE(parsed.replies[0].is("HD"));
    EXPECT_EQ(parsed.replies[0].flag('c'), 7U);
    EXPECT_EQ(parsed.replies[0].flag('t'), std::nullopt);
    EXPECT_EQ(parsed.replies[1].value, "a\r\n\0b"s);
    EXPECT_EQ(parsed.replies[1].flag('c'), UINT64_MAX);
    EXPECT_EQ(parsed.replies[1].flag('t'), std::nullopt) << "-1 is no number of seconds";
    EXPECT_EQ(parsed.replies[2].text(), "EN");
    EXPECT_EQ(parsed.replies[3].value, "");
    EXPECT_TRUE(parsed.replies[4].is("NS"));
    EXPECT_TRUE(parsed.replies[5].is_error());
    EXPECT_EQ(parsed.replies[5].rest, "out of memory");
    EXPECT_EQ(parsed.replies[6].status, "key=a%20b");
    EXPECT_EQ(parsed.replies[7].status, "END");
  }
}

TEST(MetaReplyTest, AValueThatIsTooLargeIsCutAndTheNextReplyIsFound) {
  const std::string large(ReplyParser::kMaxValue + 7, 'x');
  const std::string bytes = "VA " + std::to_string(large.size()) + " c1\r\n" + large + "\r\nMN\r\n";
  for (const std::size_t piece : {std::size_t{1000}, bytes.size()}) {
    const Parsed parsed = parse(bytes, piece);
    ASSERT_EQ(parsed.replies.size(), 2U);
    EXPECT_TRUE(parsed.replies[0].cut);
    EXPECT_EQ(parsed.replies[0].value.size(), ReplyParser::kMaxValue);
    EXPECT_TRUE(parsed.replies[1].is("MN"));
  }
}

TEST(MetaReplyTest, WhatIsNotTheProtocolIsRefused) {
  const std::string endless(ReplyParser::kMaxLine + 1, 'x');
  for (const std::string& bytes :
       {std::string("\r\n"), std::string("VA x\r\n"), std::string("VA\r\n"),
        std::string("VA -1\r\n"), std::string("VA 99999999999\r\n"),
        std::string("VA 1 c1\r\nabc\r\n"), std::string(" x\r\n"), endless, endless + "\r\n"}) {
    for (const std::size_t piece : {std::size_t{1}, bytes.size()}) {
      EXPECT_NE(parse(bytes, piece).problem, "") << bytes.substr(0, 20);
    }
  }
}

}  // namespace
}  // namespace holdfast::internal::memcached
