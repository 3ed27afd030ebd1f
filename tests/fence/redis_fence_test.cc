// Fenced data in a real Redis: one server, and a cluster.
#include "holdfast/redis_fence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/holdfast.h"
#include "proxy.h"
#include "redis_cluster.h"
#include "redis_server.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kHighest = std::numeric_limits<std::uint64_t>::max();

// The code that the call failed with; a failed comparison shows its message as well.
struct Failed {
  Code code;
  std::string message;
  friend bool operator==(const Failed& failed, Code code) { return failed.code == code; }
  friend std::ostream& operator<<(std::ostream& out, const Failed& failed) {
    return out << code_name(failed.code) << ": " << failed.message;
  }
};

template <class T>
Failed code_of(const Result<T>& result) {
  EXPECT_FALSE(result.ok());
  if (result.ok()) return {Code::busy, "it succeeded"};
  return {result.code(), result.message()};
}

// Shows the result of a get that must succeed.
std::string value_in(RedisFence& fence, std::string_view key, const Ticket& ticket) {
  const Result<std::optional<std::string>> value = fence.get(key, ticket);
  if (!value) return "failed: " + value.message();
  return value->value_or("(none)");
}

class RedisFenceTest : public ::testing::Test {
 protected:
  RedisFence open(const std::string& options = "") {
    return RedisFence::open(server_.url() + options).value();
  }
  std::string command(const std::vector<std::string>& words) { return server_.command(words); }

  RedisServer server_;
  RedisFence fence_ = open();
};

// ---- Order -------------------------------------------------------------------------------------

TEST_F(RedisFenceTest, NewerTokensWriteAndReadInTheirOrder) {
  EXPECT_EQ(fence_.mark("k").value(), Token(0));
  EXPECT_TRUE(fence_.set("k", Token(33), "a"));
  EXPECT_EQ(value_in(fence_, "k", Token(34)), "a");
  EXPECT_TRUE(fence_.set("k", Token(35), "b"));
  EXPECT_EQ(value_in(fence_, "k", Token(35)), "b");
  EXPECT_EQ(fence_.mark("k").value(), Token(35));
}

TEST_F(RedisFenceTest, AnEqualTokenIsAdmittedAgain) {
  EXPECT_TRUE(fence_.set("k", Token(7), "a"));
  EXPECT_TRUE(fence_.set("k", Token(7), "b"));
  EXPECT_EQ(value_in(fence_, "k", Token(7)), "b");
}

TEST_F(RedisFenceTest, AStaleWriteIsRefusedWithBothTokensAndChangesNothing) {
  EXPECT_TRUE(fence_.set("k", Token(34), "new"));
  const Result<void> written = fence_.set("k", Token(33), "old");
  EXPECT_EQ(code_of(written), Code::stale_token);
  EXPECT_THAT(written.message(), HasSubstr("33"));
  EXPECT_THAT(written.message(), HasSubstr("34"));
  EXPECT_EQ(code_of(fence_.erase("k", Token(33))), Code::stale_token);
  EXPECT_EQ(command({"GET", "k"}), "new");
  EXPECT_EQ(fence_.mark("k").value(), Token(34));
}

TEST_F(RedisFenceTest, AStaleReadIsRefused) {
  EXPECT_TRUE(fence_.set("k", Token(34), "new"));
  EXPECT_EQ(code_of(fence_.get("k", Token(33))), Code::stale_token);
}

TEST_F(RedisFenceTest, AReadRaisesTheMarkAlsoWhereThereIsNoData) {
  EXPECT_EQ(value_in(fence_, "k", Token(34)), "(none)");
  EXPECT_EQ(code_of(fence_.set("k", Token(33), "old")), Code::stale_token);
  EXPECT_EQ(command({"EXISTS", "k"}), "0");
}

TEST_F(RedisFenceTest, ErasingKeepsTheMark) {
  EXPECT_TRUE(fence_.set("k", Token(5), "a"));
  EXPECT_TRUE(fence_.erase("k", Token(6)));
  EXPECT_TRUE(fence_.erase("k", Token(6))) << "there is nothing, and that is what was asked for";
  EXPECT_EQ(value_in(fence_, "k", Token(6)), "(none)");
  EXPECT_EQ(code_of(fence_.set("k", Token(5), "b")), Code::stale_token);
}

TEST_F(RedisFenceTest, EachKeyHasItsOwnMark) {
  EXPECT_TRUE(fence_.set("a", Token(9), "x"));
  EXPECT_TRUE(fence_.set("b", Token(1), "y"));
  EXPECT_EQ(fence_.mark("b").value(), Token(1));
}

// ---- Values and tokens -------------------------------------------------------------------------

TEST_F(RedisFenceTest, AnyBytesAreKept) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  const std::string key("\0\r\n{\xff", 5);
  EXPECT_TRUE(fence_.set(key, Token(1), bytes));
  EXPECT_EQ(value_in(fence_, key, Token(1)), bytes);
  EXPECT_TRUE(fence_.set(key, Token(1), ""));
  EXPECT_EQ(fence_.get(key, Token(1)).value(), std::optional<std::string>(""));
  const std::string large(std::size_t{3} << 20, 'v');
  EXPECT_TRUE(fence_.set(key, Token(1), large));
  EXPECT_TRUE(value_in(fence_, key, Token(1)) == large);
}

// Lua would take neighbours beyond 2^53 for equal, and text alone 9 for more than 10.
TEST_F(RedisFenceTest, NeighbouringTokensOfAnySizeAreToldApart) {
  std::vector<std::uint64_t> tokens;
  for (std::uint64_t power = 10; power < kHighest / 10; power *= 10) tokens.push_back(power);
  for (int bit = 1; bit < 64; ++bit) tokens.push_back(std::uint64_t{1} << bit);
  tokens.push_back(10'000'000'000'000'000'000U);
  tokens.push_back(kHighest);
  std::sort(tokens.begin(), tokens.end());
  for (const std::uint64_t token : tokens) {
    ASSERT_TRUE(fence_.set("k", Token(token - 1), "below")) << token;
    ASSERT_TRUE(fence_.set("k", Token(token), "at")) << token;
    ASSERT_EQ(code_of(fence_.set("k", Token(token - 1), "stale")), Code::stale_token) << token;
    ASSERT_EQ(fence_.mark("k").value(), Token(token));
  }
  EXPECT_EQ(command({"GET", "k"}), "at");
}

TEST_F(RedisFenceTest, RandomPairsOfTokensAreOrderedAsNumbersAre) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto draw = [&] { return std::max<std::uint64_t>(random() >> (random() % 64), 1); };
  for (int round = 0; round < 300; ++round) {
    const std::string key = "pair:" + std::to_string(round);
    const std::uint64_t first = draw();
    const std::uint64_t second = round % 3 == 0 ? std::max<std::uint64_t>(first - 1, 1) : draw();
    ASSERT_TRUE(fence_.set(key, Token(first), "1"));
    ASSERT_EQ(fence_.set(key, Token(second), "2").ok(), second >= first) << first << ' ' << second;
    ASSERT_EQ(fence_.mark(key).value(), Token(std::max(first, second)));
  }
}

TEST_F(RedisFenceTest, TokenZeroAndImpossibleKeysAreInvalid) {
  EXPECT_EQ(code_of(fence_.set("k", Token(0), "x")), Code::invalid_argument);
  EXPECT_EQ(code_of(fence_.get("k", Token())), Code::invalid_argument);
  EXPECT_EQ(code_of(fence_.erase("k", Token())), Code::invalid_argument);
  EXPECT_EQ(code_of(fence_.set("", Token(1), "x")), Code::invalid_argument);
  EXPECT_EQ(code_of(fence_.mark(std::string(20000, 'k'))), Code::invalid_argument);
  EXPECT_EQ(code_of(fence_.set(RedisFence::mark_key("k"), Token(1), "x")), Code::invalid_argument);
  EXPECT_EQ(command({"DBSIZE"}), "0");
}

TEST_F(RedisFenceTest, OtherUrlsThanThoseOfRedisAreInvalid) {
  EXPECT_EQ(code_of(RedisFence::open("sqlite:///tmp/x.db")), Code::invalid_argument);
  EXPECT_EQ(code_of(RedisFence::open("redis://127.0.0.1?nonsense=1")), Code::invalid_argument);
}

// ---- What is in the store ----------------------------------------------------------------------

TEST_F(RedisFenceTest, TheDataIsThePlainKeyAndTheMarkItsSibling) {
  EXPECT_TRUE(fence_.set("ledger", Token(34), "11"));
  EXPECT_EQ(command({"GET", "ledger"}), "11");
  EXPECT_EQ(RedisFence::mark_key("ledger"), "{ledger}:hf:f");
  EXPECT_EQ(command({"GET", "{ledger}:hf:f"}), "34");
  EXPECT_EQ(command({"PTTL", "{ledger}:hf:f"}), "-1") << "a mark must not be forgotten";
  EXPECT_EQ(command({"DBSIZE"}), "2");
}

TEST_F(RedisFenceTest, ThePrefixOfTheUrlStandsBeforeTheKey) {
  RedisFence other = open("?prefix=app:");
  EXPECT_TRUE(other.set("k", Token(3), "theirs"));
  EXPECT_EQ(command({"GET", "app:k"}), "theirs");
  EXPECT_EQ(command({"GET", RedisFence::mark_key("app:k")}), "3");
  EXPECT_EQ(fence_.mark("k").value(), Token(0));
}

TEST_F(RedisFenceTest, DataOfAnotherTypeIsLeftAlone) {
  command({"RPUSH", "k", "item"});
  EXPECT_EQ(code_of(fence_.set("k", Token(1), "x")), Code::misconfigured);
  EXPECT_EQ(code_of(fence_.erase("k", Token(1))), Code::misconfigured);
  const auto read = fence_.get("k", Token(1));
  EXPECT_EQ(code_of(read), Code::misconfigured);
  EXPECT_THAT(read.message(), HasSubstr("list"));
  EXPECT_EQ(command({"TYPE", "k"}), "list");
  EXPECT_EQ(command({"DBSIZE"}), "1");
}

TEST_F(RedisFenceTest, AMarkThatCannotBeReadIsNotZero) {
  for (const std::string mark : {"", "0x10", "01", "-1", "nonsense", "18446744073709551616"}) {
    command({"SET", RedisFence::mark_key("k"), mark});
    EXPECT_EQ(code_of(fence_.set("k", Token(kHighest), "x")), Code::misconfigured) << mark;
    EXPECT_EQ(code_of(fence_.mark("k")), Code::misconfigured) << mark;
  }
  command({"DEL", RedisFence::mark_key("k")});
  const std::string writer_key = RedisFence::script_keys("k")[3];
  for (const std::string mark : {"", "9", "x 9", "09 9", "18446744073709551616 9"}) {
    command({"SET", writer_key, mark});
    EXPECT_EQ(code_of(fence_.get("k", Token(kHighest))), Code::misconfigured) << mark;
  }
  command({"DEL", writer_key});
  command({"SADD", RedisFence::mark_key("k"), "9"});
  EXPECT_EQ(code_of(fence_.set("k", Token(kHighest), "x")), Code::misconfigured);
  EXPECT_EQ(command({"EXISTS", "k"}), "0");
}

TEST_F(RedisFenceTest, DataThatHasALocksNameIsRefusedAndTheLockStays) {
  Client client = Client::open(server_.url()).value();
  Lease lease = client.mutex("ledger").acquire().value();
  const Result<void> written = fence_.set("ledger", lease.token(), "11");
  EXPECT_EQ(code_of(written), Code::invalid_argument);
  EXPECT_THAT(written.message(), HasSubstr("name of a lock"));
  EXPECT_TRUE(lease.renew());
  RedisFence apart = open("?prefix=data:");
  EXPECT_TRUE(apart.set("ledger", lease.token(), "11"));
}

// ---- Servers that fail -------------------------------------------------------------------------

TEST_F(RedisFenceTest, AServerThatForgotItsScriptsIsToldThemAgain) {
  EXPECT_TRUE(fence_.set("k", Token(1), "a"));
  command({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(fence_.set("k", Token(2), "b"));
}

TEST_F(RedisFenceTest, AServerThatIsGoneIsUnreachable) {
  server_.kill();
  EXPECT_EQ(code_of(fence_.set("k", Token(1), "a")), Code::unreachable);
  EXPECT_EQ(code_of(fence_.mark("k")), Code::unreachable);
  server_.restart();
  EXPECT_TRUE(fence_.set("k", Token(1), "a"));
}

TEST_F(RedisFenceTest, AServerThatDoesNotAnswerLeavesTheOutcomeUnknown) {
  ClientOptions options;
  options.request_timeout = std::chrono::milliseconds(300);
  RedisFence hasty = RedisFence::open(server_.url(), options).value();
  EXPECT_TRUE(hasty.set("k", Token(1), "a"));
  server_.pause();
  EXPECT_EQ(code_of(hasty.set("k", Token(2), "b")), Code::unknown);
  server_.resume();
  EXPECT_EQ(value_in(fence_, "k", Token(2)), "b") << "what was sent is done when it wakes";
}

// A call whose answer was lost is repeated. `meanwhile` happens after it was done, before that.
Result<void> set_with_a_lost_answer(RedisServer& server, Token token, const std::string& value,
                                    const std::function<void()>& meanwhile) {
  Proxy proxy(server.port());
  RedisFence fence = RedisFence::open("redis://127.0.0.1:" + std::to_string(proxy.port())).value();
  EXPECT_TRUE(fence.mark("k"));  // it is connected
  proxy.set(Direction::to_client, ProxyMode::hold);
  Result<void> outcome;
  std::thread caller([&] { outcome = fence.set("k", token, value); });
  while (server.command({"GET", "k"}) != value) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  meanwhile();
  proxy.reset();
  proxy.set(Direction::to_client, ProxyMode::pass);
  caller.join();
  return outcome;
}

TEST_F(RedisFenceTest, AWriteWhoseAnswerWasLostIsRepeatedWithTheSameEffect) {
  const Result<void> written = set_with_a_lost_answer(server_, Token(5), "a", [] {});
  EXPECT_TRUE(written) << written.message();
  EXPECT_EQ(value_in(fence_, "k", Token(5)), "a");
}

TEST_F(RedisFenceTest, AWriteThatWasDoneAndThenOvertakenIsNotCalledRefused) {
  const Result<void> written = set_with_a_lost_answer(
      server_, Token(5), "a", [&] { EXPECT_TRUE(fence_.set("k", Token(6), "newer")); });
  EXPECT_EQ(code_of(written), Code::unknown);
  EXPECT_EQ(value_in(fence_, "k", Token(6)), "newer");
}

TEST_F(RedisFenceTest, ReplicasThatAreMissingMakeTheOutcomeUnknown) {
  RedisFence careful = open("?wait_replicas=1&command_timeout_ms=400");
  const Result<void> written = careful.set("k", Token(1), "a");
  EXPECT_EQ(code_of(written), Code::unknown);
  EXPECT_THAT(written.message(), HasSubstr("replicas"));
}

TEST_F(RedisFenceTest, AMovedFenceIsClosed) {
  RedisFence other = std::move(fence_);
  EXPECT_TRUE(other.set("k", Token(1), "a"));
  EXPECT_EQ(code_of(fence_.set("k", Token(1), "a")),
            Code::closed);  // NOLINT(bugprone-use-after-move)
}

// ---- Many at once ------------------------------------------------------------------------------

// Each token is used once, by either client; whatever the order was, the highest one wins, and no
// write was admitted after a higher one.
TEST_F(RedisFenceTest, OfRacingClientsTheHighestTokenHasTheLastWord) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RedisFence other = open();
  constexpr std::size_t kThreads = 8;
  constexpr std::size_t kWrites = 200;
  std::vector<std::uint64_t> tokens;
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < kThreads * kWrites; ++i)
    tokens.push_back(std::max<std::uint64_t>(random(), 1));
  std::atomic<int> surprises = 0;
  std::atomic<int> admitted = 0;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      RedisFence& mine = thread % 2 == 0 ? fence_ : other;
      for (std::size_t i = 0; i < kWrites; ++i) {
        const Token token(tokens[thread * kWrites + i]);
        const Result<void> written = mine.set("k", token, token.str());
        if (written) ++admitted;
        if (!written && written.code() != Code::stale_token) ++surprises;
        // No value that a reader is shown is from a newer ticket than its own.
        const auto seen = mine.get("k", token);
        if (seen && (!written || seen->value_or("") != token.str())) ++surprises;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::uint64_t highest = *std::max_element(tokens.begin(), tokens.end());
  EXPECT_EQ(surprises, 0);
  EXPECT_GT(admitted, 0);
  EXPECT_EQ(fence_.mark("k").value(), Token(highest));
  EXPECT_EQ(command({"GET", "k"}), std::to_string(highest));
}

// ---- The whole story ---------------------------------------------------------------------------

TEST_F(RedisFenceTest, AHolderThatWasPausedTooLongIsRefused) {
  Client a = Client::open(server_.url()).value();
  Client b = Client::open(server_.url()).value();
  LockOptions options;
  options.auto_renew = false;  // as of a paused process
  Lease of_a = a.mutex("ledger.lock", options).acquire().value();
  RedisFence& from_a = fence_;
  RedisFence from_b = open();
  EXPECT_TRUE(from_a.set("ledger", of_a.token(), "10"));
  EXPECT_EQ(value_in(from_a, "ledger", of_a.token()), "10");

  // … A is paused; the lock is taken from it …
  ASSERT_TRUE(b.evict("ledger.lock", of_a.token()));
  Lease of_b = b.mutex("ledger.lock").acquire().value();
  EXPECT_GT(of_b.token(), of_a.token());
  EXPECT_EQ(value_in(from_b, "ledger", of_b.token()), "10");

  // A wakes up between B's read and B's write, and knows nothing.
  EXPECT_EQ(code_of(from_a.set("ledger", of_a.token(), "11")), Code::stale_token);
  EXPECT_TRUE(from_b.set("ledger", of_b.token(), "11"));
  EXPECT_EQ(code_of(from_a.get("ledger", of_a.token())), Code::stale_token);
  EXPECT_EQ(command({"GET", "ledger"}), "11");
}

// ---- For other clients -------------------------------------------------------------------------

TEST_F(RedisFenceTest, TheScriptsWorkFromAnyClient) {
  const auto eval = [&](const std::string& script, const std::vector<std::string>& arguments) {
    std::vector<std::string> words{"EVAL", script, "4"};
    for (const std::string& key : RedisFence::script_keys("k")) words.push_back(key);
    words.insert(words.end(), arguments.begin(), arguments.end());
    return command(words);
  };
  const std::string x = "exclusive";
  EXPECT_EQ(eval(RedisFence::set_script(), {"34", x, "v"}), "1\n34");
  EXPECT_EQ(eval(RedisFence::get_script(), {"34", x}), "1\n34\nv");
  EXPECT_EQ(eval(RedisFence::set_script(), {"33", x, "old"}), "0\n34");
  EXPECT_EQ(eval(RedisFence::get_script(), {"33", x}), "0\n34");
  EXPECT_EQ(fence_.mark("k").value(), Token(34)) << "one fence for all clients";
  EXPECT_EQ(eval(RedisFence::get_script(), {"37", "shared"}), "1\n37\nv");
  EXPECT_EQ(eval(RedisFence::get_script(), {"36", "shared"}), "1\n37\nv");
  EXPECT_EQ(eval(RedisFence::get_script(), {"33", "shared"}), "0\n34");
  EXPECT_THAT(eval(RedisFence::set_script(), {"38", "shared", "v"}), HasSubstr("-1\n"));
  EXPECT_THAT(eval(RedisFence::get_script(), {"38", "permit"}), HasSubstr("-1\n"));
  EXPECT_THAT(eval(RedisFence::get_script(), {"38"}), HasSubstr("-1\n"));
  EXPECT_EQ(fence_.mark("k").value(), Token(37)) << "what is wrong raises nothing";
  EXPECT_EQ(eval(RedisFence::set_script(), {"38", x}), "1\n38") << "without a value: erase";
  EXPECT_EQ(command({"EXISTS", "k"}), "0");
  for (const std::string token : {"", "0", "007", "-1", "1e3", "18446744073709551616"}) {
    EXPECT_THAT(eval(RedisFence::set_script(), {token, x, "v"}), HasSubstr("-1\n")) << token;
  }
}

// The keys of earlier versions of the scripts were two or three: no key is taken for another.
TEST_F(RedisFenceTest, TheScriptsRefuseTheKeysOfEarlierOnes) {
  const std::vector<std::string> keys = RedisFence::script_keys("k");
  ASSERT_EQ(keys.size(), 4U);
  for (std::size_t count = 2; count < 4; ++count) {
    std::vector<std::string> words{"EVAL", RedisFence::get_script(), std::to_string(count)};
    words.insert(words.end(), keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(count));
    words.insert(words.end(), {"34", "shared"});
    EXPECT_THAT(command(words), HasSubstr("-1\nthe keys are")) << count;
  }
  EXPECT_EQ(command({"DBSIZE"}), "0");
}

TEST_F(RedisFenceTest, TheScriptsInTheDocumentationAreTheOnesThatRun) {
  std::ifstream file(HOLDFAST_FENCING_MD);
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const std::string& set = RedisFence::set_script();
  const std::string& get = RedisFence::get_script();
  EXPECT_THAT(page, HasSubstr("```lua" + set + "```"));
  const std::string first =
      "\nif ARGV[2] ~= 'exclusive' then return {-1, 'only an exclusive token may write'} end\n";
  const std::string last = "\nreturn {1, mark, redis.call('GET', data)}\n";
  EXPECT_THAT(page, HasSubstr("```lua" + last + "```"));
  const std::size_t common = get.size() - last.size();
  EXPECT_EQ(set.substr(0, first.size()), first);
  EXPECT_EQ(get, set.substr(first.size(), common) + last) << "all but the ends is the same";
}

// ---- In a cluster ------------------------------------------------------------------------------

TEST(RedisFenceInACluster, DataAndMarkShareASlotWhateverBracesTheKeyHas) {
  RedisCluster cluster;
  RedisFence fence = RedisFence::open(cluster.url()).value();
  const std::vector<std::string> keys{"plain", "{tag}", "a{b}c", "a{b}c{d}", "}",  "{",     "{}",
                                      "a}b",   "}{",    "{}{a}", "{{a}}",    "a{", "x:hf:", "{12}"};
  for (const std::string& key : keys) {
    for (const std::string& sibling : RedisFence::script_keys(key)) {
      EXPECT_EQ(cluster.slot_of(sibling), cluster.slot_of(key)) << key << ": " << sibling;
    }
    const Result<void> written = fence.set(key, Token(34), "of " + key);
    EXPECT_TRUE(written) << key << ": " << written.message();
    EXPECT_EQ(code_of(fence.set(key, Token(33), "stale")), Code::stale_token) << key;
    EXPECT_EQ(value_in(fence, key, {Token(37), Mode::shared}), "of " + key);
    EXPECT_EQ(value_in(fence, key, {Token(36), Mode::shared}), "of " + key);
    EXPECT_EQ(fence.mark(key).value(), Token(37)) << key;
  }
}

TEST(RedisFenceInACluster, TheMarkMovesWithItsSlotAndSurvivesAFailover) {
  RedisCluster cluster;
  ClientOptions options;
  options.request_timeout = std::chrono::seconds(20);
  RedisFence fence = RedisFence::open(cluster.url(), options).value();
  ASSERT_TRUE(fence.set("k", Token(34), "a"));
  const int slot = cluster.slot_of("k");
  const int from = cluster.master_of(slot);
  cluster.move_slot(slot, (from + 1) % RedisCluster::kMasters);
  EXPECT_EQ(code_of(fence.set("k", Token(33), "stale")), Code::stale_token);
  EXPECT_EQ(value_in(fence, "k", Token(35)), "a");
  cluster.wait_until_ok();  // the replica has it
  cluster.kill_master_of(slot);
  EXPECT_EQ(value_in(fence, "k", Token(36)), "a") << "the call outlasts the failover";
  EXPECT_EQ(code_of(fence.set("k", Token(34), "stale")), Code::stale_token);
}

}  // namespace
}  // namespace holdfast::test
