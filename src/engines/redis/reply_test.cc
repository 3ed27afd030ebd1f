#include "engines/redis/reply.h"

#include <gtest/gtest.h>

namespace holdfast::internal::redis {
namespace {

// Empty if the bytes are the protocol.
std::string problem_of(std::string_view bytes) {
  ReplyParser parser;
  std::string problem;
  return parser.feed(bytes, [](const Reply&) {}, problem) ? "" : problem;
}

TEST(RedisReply, ArraysHaveTheirItems) {
  ReplyParser parser;
  std::string problem;
  std::vector<Reply> replies;
  const auto keep = [&](Reply reply) { replies.push_back(std::move(reply)); };
  ASSERT_TRUE(parser.feed("*3\r\n:7\r\n$2\r\nab", keep, problem)) << problem;
  EXPECT_TRUE(replies.empty());
  ASSERT_TRUE(parser.feed("\r\n*-1\r\n*0\r\n", keep, problem)) << problem;
  ASSERT_EQ(replies.size(), 2U);
  EXPECT_TRUE(replies[0].at(0).is_number(7));
  EXPECT_EQ(replies[0].at(1).text, "ab");
  EXPECT_EQ(replies[0].at(2).kind, Reply::Kind::nil);
  EXPECT_EQ(replies[1].kind, Reply::Kind::array);
  EXPECT_TRUE(replies[1].items.empty());
}

TEST(RedisReply, MoreItemsThanAnyReplyHasAreNotTheProtocol) {
  EXPECT_EQ(problem_of("*1048577\r\n"), "Out of memory");
}

// Newer versions of hiredis know RESP3, for which we never ask.
TEST(RedisReply, NumbersAndBooleansOfResp3AreNotTheProtocol) {
  for (const char* bytes : {",1.5\r\n", "#t\r\n", "*1\r\n,1.5\r\n", "*1\r\n#f\r\n"}) {
    EXPECT_NE(problem_of(bytes), "") << bytes;
  }
}

}  // namespace
}  // namespace holdfast::internal::redis
