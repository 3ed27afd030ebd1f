// Readers and writers of fenced data in a real Redis, and programs without modes beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fence/lock_history_testing.h"
#include "holdfast/holdfast.h"
#include "redis_server.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;

Ticket reader(std::uint64_t token) { return {Token(token), Mode::shared}; }
Ticket writer(std::uint64_t token) { return {Token(token), Mode::exclusive}; }

class RedisFenceModes : public ::testing::Test {
 protected:
  // Readers read, writers write.
  bool enter(const Ticket& ticket) {
    const Code code = ticket.mode == Mode::shared
                          ? code_of(fence_.get("k", ticket))
                          : code_of(fence_.set("k", ticket, "of " + ticket.token.str()));
    EXPECT_TRUE(code == kAdmitted || code == Code::stale_token) << code_name(code);
    return code == kAdmitted;
  }
  template <class T>
  static Code code_of(const Result<T>& result) {
    return result ? kAdmitted : result.code();
  }
  static constexpr Code kAdmitted = Code::busy;  // no fence ever answers that

  // The script of earlier versions.
  bool old_enter(Token token) {
    static const std::string script = R"lua(
local data, mark_key, lock = KEYS[1], KEYS[2], KEYS[3]
local function number(text)
  return string.find(text, '^[1-9]%d*$') and
    (#text < 20 or (#text == 20 and text <= '18446744073709551615'))
end
if lock and redis.call('EXISTS', lock) == 1 then return {-1, 'lock'} end
for _, key in ipairs({data, mark_key}) do
  local kind = redis.call('TYPE', key).ok
  if kind ~= 'none' and kind ~= 'string' then return {-1, key .. ' is a ' .. kind} end
end
local mark = redis.call('GET', mark_key) or '0'
if mark ~= '0' and not number(mark) then return {-1, mark_key .. ' is no mark'} end

local token = ARGV[1]
if not token or not number(token) then return {-1, 'the token is no number above 0'} end
if #token < #mark or (#token == #mark and token < mark) then return {0, mark} end
if token ~= mark then redis.call('SET', mark_key, token) end

return {1, token, redis.call('GET', data)}
)lua";
    const std::string answer = server_.command(
        {"EVAL", script, "3", "k", RedisFence::mark_key("k"), "{k}:hf:t", token.str()});
    EXPECT_NE(answer.front(), '-') << answer;
    return answer.front() == '1';
  }

  RedisServer server_;
  RedisFence fence_ = RedisFence::open(server_.url()).value();
};

TEST_F(RedisFenceModes, AValidReaderIsAdmittedAfterANewerReader) {
  Client client = Client::open(server_.url()).value();
  SharedMutex mutex = client.shared_mutex("k.lock");
  Lease first = mutex.acquire_shared().value();
  Lease second = mutex.acquire_shared().value();
  ASSERT_LT(first.token(), second.token());
  for (const Lease* lease : {&first, &second, &first, &second}) {
    const auto read = fence_.get("k", *lease);
    EXPECT_TRUE(read) << read.message();
  }
  const Ticket late = first;
  ASSERT_TRUE(first.release());
  ASSERT_TRUE(second.release());
  const Lease third = mutex.acquire().value();
  EXPECT_TRUE(fence_.set("k", third, "new"));
  const auto read = fence_.get("k", late);
  EXPECT_EQ(code_of(read), Code::stale_token);
  EXPECT_THAT(read.message(), HasSubstr("an exclusive holder with token " + third.token().str()));
}

TEST_F(RedisFenceModes, AnswersAsTheHistoryDemands) {
  fence_testing::expect_fence_of(std::random_device()(), 1000,
                                 [this](const Ticket& ticket) { return enter(ticket); });
}

TEST_F(RedisFenceModes, WithAnEarlierVersionInTurnNobodyLateIsAdmittedAndNoValidWriterRefused) {
  fence_testing::expect_fence_of_two_versions(
      std::random_device()(), 1000, [this](const Ticket& ticket) { return enter(ticket); },
      [this](Token token) { return old_enter(token); });
}

TEST_F(RedisFenceModes, AMarkOfOneNumberCountsAsBoth) {
  server_.command({"SET", RedisFence::mark_key("k"), "33"});
  EXPECT_FALSE(enter(reader(32)));
  EXPECT_TRUE(enter(reader(35)));
  EXPECT_TRUE(enter(reader(34)));
  EXPECT_FALSE(enter(reader(32)));
  EXPECT_TRUE(old_enter(Token(40)));
  EXPECT_FALSE(enter(reader(39)));
}

TEST_F(RedisFenceModes, TheWritersNumberIsAKeyWhileReadersAreNewer) {
  const std::string key = RedisFence::script_keys("k")[3];
  EXPECT_EQ(key, "{k}:hf:x");
  EXPECT_TRUE(enter(writer(9)));
  EXPECT_EQ(server_.command({"EXISTS", key}), "0");
  EXPECT_TRUE(enter(reader(10)));
  EXPECT_EQ(server_.command({"GET", key}), "9 10");
  EXPECT_EQ(server_.command({"PTTL", key}), "-1");
  EXPECT_TRUE(enter(writer(100)));
  EXPECT_EQ(server_.command({"EXISTS", key}), "0");
}

TEST_F(RedisFenceModes, ATokenShownAsSharedThenAsExclusiveShutsLateReadersOut) {
  EXPECT_TRUE(enter(writer(3)));
  EXPECT_TRUE(enter(reader(5)));
  EXPECT_TRUE(enter(reader(7)));
  EXPECT_TRUE(enter(writer(7)));
  EXPECT_FALSE(enter(reader(5)));
}

TEST_F(RedisFenceModes, OnlyExclusiveTokensWrite) {
  for (const Mode mode : {Mode::shared, Mode::permit}) {
    EXPECT_EQ(code_of(fence_.set("k", {Token(5), mode}, "x")), Code::invalid_argument);
    EXPECT_EQ(code_of(fence_.erase("k", {Token(5), mode})), Code::invalid_argument);
  }
  EXPECT_EQ(code_of(fence_.get("k", {Token(5), Mode::permit})), Code::invalid_argument);
  EXPECT_EQ(server_.command({"DBSIZE"}), "0");
}

// Readers of one lock, at once and from several clients: none is refused, and the mark is the
// highest of them.
TEST_F(RedisFenceModes, ReadersThatRaceAreAllAdmitted) {
  ASSERT_TRUE(enter(writer(1)));
  constexpr std::uint64_t kReaders = 8;
  constexpr std::uint64_t kReads = 100;
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < kReaders; ++i) {
    threads.emplace_back([&, i] {
      RedisFence mine = RedisFence::open(server_.url()).value();
      for (std::uint64_t n = 0; n < kReads; ++n) {
        const auto read = mine.get("k", reader(2 + n * kReaders + (i * 5) % kReaders));
        if (!read || *read != "of 1") ++refused;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(fence_.mark("k").value(), Token(1 + kReaders * kReads));
  EXPECT_FALSE(enter(writer(kReaders * kReads)));
}

}  // namespace
}  // namespace holdfast::test
