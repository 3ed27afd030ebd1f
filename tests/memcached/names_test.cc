// Names that memcached takes for keys, and names that it does not.
#include "base/sha256.h"
#include "memcached_testing.h"

namespace holdfast::memcached_tests {
namespace {

TEST(MemcachedNames, APlainNameIsItsOwnKey) {
  MemcachedServer server;
  Client client = open(server.url() + "?prefix=app:");
  const Lease lease = client.mutex("orders/7", kLong).acquire().value();
  EXPECT_TRUE(present(server, "app:orders/7"));
  EXPECT_TRUE(present(server, "app:orders/7:hf:token"));
}

// Nothing that a name can be makes it the key of another's word or token.
TEST(MemcachedNames, NoNameIsInTheWayOfAnother) {
  using namespace std::string_literals;  // NOLINT(google-build-using-namespace): test code
  MemcachedServer server;
  Client client = open(server.url());
  const std::string spaced = "a b";
  const std::vector<std::string> names{
      "x",
      "x:hf:token",
      "x:hf:token:hf:token",
      spaced,
      "hf:sha256:" + internal::sha256_hex(spaced),
      "hf:sha256:",
      ":hf:token",
      "a\r\nmd x\r\n",
      "a\0b"s,
      "a\x7f",
      "\xff\xfe",
      std::string(241, 'k'),
      std::string(242, 'k'),
      std::string(250, 'k'),
      std::string(251, 'k'),
      std::string(16384, 'k'),
      std::string(16383, 'k') + "\n",
  };
  std::vector<Lease> leases;
  for (const std::string& name : names) {
    Result<Lease> lease = client.mutex(name, kLong).try_acquire();
    ASSERT_EQ(told(lease), "granted") << Name(name).display();
    leases.push_back(std::move(lease).value());
  }
  EXPECT_EQ(client.list().value().size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    SCOPED_TRACE(Name(names[i]).display());
    EXPECT_EQ(visible_token(client, names[i]), leases[i].token().value());
    EXPECT_EQ(outcome_of(client.mutex(names[i], kLong).try_acquire()), "busy");
    EXPECT_EQ(told(leases[i].renew()), "granted");
    EXPECT_EQ(told(leases[i].release()), "granted");
  }
  EXPECT_TRUE(client.list().value().empty());
}

// Two names with one key: that cannot happen by chance, but who meets it must not take the one for
// the other.
TEST(MemcachedNames, ACollisionIsNamed) {
  MemcachedServer server;
  Client client = open(server.url());
  const std::string key = "hf:sha256:" + internal::sha256_hex("a b");
  const std::string word = "hf1 00112233445566778899aabbccddeeff 7 0 5 other label";
  ASSERT_EQ(
      server.ask("ms " + key + " " + std::to_string(word.size()) + " T20\r\n" + word + "\r\n"),
      "HD\r\n");
  const std::string said = told(client.mutex("a b", kLong).try_acquire());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("has the same key as 'other'"));
  EXPECT_TRUE(present(server, key));
}

TEST(MemcachedNames, PrefixesKeepApart) {
  MemcachedServer server;
  Client one = open(server.url() + "?prefix=one:");
  Client two = open(server.url() + "?prefix=two:");
  for (const std::string& name : {std::string("x"), std::string("a b"), std::string(300, 'k')}) {
    const Lease first = one.mutex(name, kLong).try_acquire().value();
    const Lease second = two.mutex(name, kLong).try_acquire().value();
    EXPECT_EQ(one.list().value().size(), 1U);
    EXPECT_EQ(two.list().value().size(), 1U);
  }
}

TEST(MemcachedNames, AListThatTheServerDoesNotGiveIsNamed) {
  MemcachedServer server({.arguments = {"-o", "no_lru_maintainer,no_lru_crawler"}});
  Client client = open(server.url());
  const Lease lease = client.mutex("x", kLong).try_acquire().value();
  const std::string said = told(client.list());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("crawler"));
  EXPECT_EQ(visible_token(client, "x"), lease.token().value());
}

TEST(MemcachedNames, ManyLocksAmongManyItemsAreListed) {
  MemcachedServer server;
  Client client = open(server.url());
  std::string items;
  for (int i = 0; i < 3000; ++i) items += "ms item" + std::to_string(i) + " 1 T99 q\r\nv\r\n";
  ASSERT_THAT(server.ask(items + "mn\r\n", "MN\r\n"), testing::EndsWith("MN\r\n"));
  std::vector<Lease> leases;
  for (int i = 0; i < 700; ++i) {
    leases.push_back(client.mutex("lock" + std::to_string(i), kLong).try_acquire().value());
  }
  const std::vector<LockInfo> all = client.list().value();
  ASSERT_EQ(all.size(), leases.size());
  for (const LockInfo& info : all) EXPECT_NE(info.holders.at(0).token, Token());
}

}  // namespace
}  // namespace holdfast::memcached_tests
