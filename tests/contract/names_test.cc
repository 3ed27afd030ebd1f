// Any bytes are a name, and different bytes are different locks.
#include <algorithm>

#include "contract.h"

namespace holdfast::contract {

HOLDFAST_CONTRACT(NamesTest);

namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace): test code

std::vector<std::string> odd_names() {
  const std::string long_name(10'000, 'n');
  std::vector<std::string> names{
      "a",
      "A",
      " a",
      "a ",
      "a a",
      "a\ta",
      "a\n",
      "a\nb",
      "a\r\n",
      "\n",
      "a/",
      "/a",
      "a//b",
      "a/b",
      "/",
      "..",
      "../a",
      ".",
      "a\\b",
      "{a}",
      "a{b}c",
      "{}",
      "{",
      "}",
      "{a",
      "a}",
      "{a}{b}",
      "a{}b",
      "a\0"s,
      "\0a"s,
      "a\0b"s,
      "\0"s,
      "\0\0"s,
      "%",
      "%00",
      "%2f",
      "a%2Fb",
      "_",
      "a*",
      "a?",
      "[a]",
      "'",
      "\"",
      "a'b",
      "`",
      ";",
      "--",
      "#",
      "a:b",
      "a,b",
      "a=b",
      "a&b",
      "$a",
      "~",
      "!",
      "\xff",
      "\xff\xfe",
      "a\xff",
      "\xc3",
      "\xc3\x28",
      "\xe2\x82\xac",
      "\xed\xa0\x80",
      "\xc3\xa9",
      "e\xcc\x81",  // The same letter as the one before, composed: other bytes, another lock.
      "0",
      "00",
      "0x0",
      "NULL",
      "true",
      "__READ__",
      "__WRIT__-lock-0000000001",
      long_name,
      long_name + "x",
      long_name + "y",
      "x" + long_name,
      std::string(16'384, 'm'),
      std::string(64, 'k'),
      std::string(65, 'k'),
      std::string(250, 'k'),
      std::string(251, 'k'),
      std::string(10'000, '\0'),
      std::string(10'000, '/')};
  return names;
}

}  // namespace

TEST_P(NamesTest, AnEmptyNameAndOneThatIsTooLongAreRefused) {
  Client client = open();
  EXPECT_EQ(thrown_by([&] { client.mutex(""); }), "invalid_argument");
  EXPECT_EQ(thrown_by([&] { client.mutex(std::string()); }), "invalid_argument");
  EXPECT_EQ(thrown_by([&] { client.mutex(std::string(16'385, 'x')); }), "invalid_argument");
  EXPECT_EQ(thrown_by([&] { client.mutex(std::string(1'000'000, 'x')); }), "invalid_argument");
}

TEST_P(NamesTest, OddNamesAreDifferentLocks) {
  Client one = open();
  Client two = open();
  std::vector<Lease> leases;
  for (const std::string& name : odd_names()) {
    Result<Lease> lease = one.mutex(name).try_acquire();
    ASSERT_EQ(outcome_of(lease), "granted") << Name(name).display() << " collides";
    EXPECT_EQ(lease->name().bytes(), name);
    leases.push_back(std::move(lease).value());
  }
  for (const std::string& name : odd_names()) {
    EXPECT_EQ(outcome_of(two.mutex(name).try_acquire()), "busy") << Name(name).display();
  }
  for (Lease& lease : leases) EXPECT_EQ(outcome_of(lease.release()), "granted");
  for (const std::string& name : odd_names()) {
    EXPECT_EQ(outcome_of(two.mutex(name).try_acquire()), "granted") << Name(name).display();
  }
}

TEST_P(NamesTest, ListAndInspectShowOddNamesByteForByte) {
  Client client = open();
  std::vector<Lease> leases;
  for (const std::string& name : odd_names())
    leases.push_back(client.mutex(name).acquire().value());
  for (const Lease& lease : leases) {
    const LockInfo info = client.inspect(lease.name()).value();
    EXPECT_EQ(info.name, lease.name());
    ASSERT_EQ(info.holders.size(), 1U) << lease.name().display();
    EXPECT_EQ(info.holders[0].token, lease.token());
  }
  std::vector<std::string> listed;
  for (const LockInfo& info : client.list().value()) listed.push_back(info.name.bytes());
  std::vector<std::string> expected = odd_names();
  std::sort(expected.begin(), expected.end());
  EXPECT_TRUE(std::is_sorted(listed.begin(), listed.end()));
  EXPECT_EQ(listed, expected);
}

TEST_P(NamesTest, AWaiterForAnOddNameIsServed) {
  Client one = open();
  Client two = open();
  for (const std::string& name : {"a\0b"s, "\n"s, "\xff\xfe"s, "{a}"s, std::string(16'384, 'm')}) {
    Lease lease = one.mutex(name).acquire().value();
    Mutex mutex = two.mutex(name);
    Pending waiting = in_thread([&] { return mutex.acquire(); });
    ASSERT_TRUE(queue_reaches(one, name, 1));
    ASSERT_TRUE(lease.release());
    ASSERT_TRUE(arrives(waiting));
    EXPECT_EQ(outcome_of(waiting.get()), "granted");
  }
}

TEST_P(NamesTest, ListShowsWhatBeginsWithThePrefixAndNothingElse) {
  Client client = open();
  std::vector<Lease> leases;
  for (const std::string& name : {"app/a"s, "app/b"s, "app"s, "apple"s, "ap"s, "b"s, "app%"s,
                                  "\xff"s, "\xff\xff"s, "\0x"s, "\0"s}) {
    leases.push_back(client.mutex(name).acquire().value());
  }
  const auto listed = [&](const std::string& prefix) {
    std::vector<std::string> names;
    for (const LockInfo& info : client.list(prefix).value()) names.push_back(info.name.bytes());
    return names;
  };
  EXPECT_THAT(listed("app/"), testing::ElementsAre("app/a", "app/b"));
  EXPECT_THAT(listed("app"), testing::ElementsAre("app", "app%", "app/a", "app/b", "apple"));
  EXPECT_THAT(listed("app%"), testing::ElementsAre("app%"));
  EXPECT_THAT(listed("\xff"), testing::ElementsAre("\xff", "\xff\xff"));
  EXPECT_THAT(listed("\0"s), testing::ElementsAre("\0"s, "\0x"s));
  EXPECT_THAT(listed("nothing"), testing::ElementsAre());
  EXPECT_THAT(listed("_pp"), testing::ElementsAre());
  EXPECT_EQ(listed("").size(), leases.size());
}

TEST_P(NamesTest, MessagesShowOddNamesWithoutControlBytes) {
  Client client = open();
  const std::string name = "bad\n\x1b[31m\xff";
  const Lease lease = client.mutex(name).acquire().value();
  const Result<void> refused = client.evict(name, Token(lease.token().value() + 1));
  ASSERT_FALSE(refused);
  for (const char c : refused.message()) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  EXPECT_THAT(refused.message(), testing::HasSubstr("bad\\x0A\\x1B[31m\\xFF"));
}

TEST_P(NamesTest, AHandleCarriesAnOddName) {
  HOLDFAST_NEEDS(outlives_process);
  Client client = open();
  for (const std::string& name : odd_names()) {
    const Handle handle = client.mutex(name).acquire().value().detach().value();
    EXPECT_THAT(handle.text(), testing::Not(testing::ContainsRegex("[^a-zA-Z0-9._-]")));
    const Result<Handle> parsed = Handle::parse(handle.text());
    ASSERT_EQ(outcome_of(parsed), "granted");
    EXPECT_EQ(parsed->hold().claim.name.bytes(), name);
    EXPECT_EQ(outcome_of(client.release(*parsed)), "granted");
  }
}

}  // namespace holdfast::contract
