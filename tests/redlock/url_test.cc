// A fault of a URL is said when the client is opened, by the name of what is wrong.
#include "bad_urls.h"
#include "redlock_testing.h"

namespace holdfast::redlock_tests {
namespace {

class RedlockUrl : public testing::TestWithParam<Wrong> {};

TEST_P(RedlockUrl, WhatIsWrongIsNamed) {
  const std::string said = expect_refused(GetParam());
  EXPECT_THAT(said, HasSubstr("write redlock")) << "and what to write instead";
  EXPECT_THAT(said, Not(HasSubstr("write redis")));
}

INSTANTIATE_TEST_SUITE_P(
    , RedlockUrl,
    testing::Values(
        Wrong{"redlock:a,b,c", "must be followed by //"},
        Wrong{"redlock://a:1,b:1,a:1", "a:1 is named twice"},
        Wrong{"redlock://a,b,a:6379", "a:6379 is named twice"},
        Wrong{"redlock://a,,c", "the host is missing"},
        Wrong{"redlock://a:0,b,c", "the port is not a number"},
        Wrong{"redlock://a,b:x,c", "the port is not a number"},
        Wrong{"redlock://a,b,c/x", "the database 'x' is not a number"},
        Wrong{"redlock://user@a,b,c", "a user without a password"},
        Wrong{"redlock://a,b,c?nonsense=1", "unknown option 'nonsense' (there is node_timeout_ms"},
        Wrong{"redlock://a,b,c?socket=/s", "unknown option 'socket' (there is node_timeout_ms"},
        Wrong{"redlock://a,b,c?wait_replicas=1",
              "unknown option 'wait_replicas' (there is node_timeout_ms"},
        Wrong{"redlock://a,b,c?sentinel_user=u",
              "unknown option 'sentinel_user' (there is node_timeout_ms"},
        Wrong{"redlock://a,b,c?node_timeout_ms=0", "node_timeout_ms is a number"},
        Wrong{"redlock://a,b,c?node_timeout_ms=-5", "up to 60000, not '-5'"},
        Wrong{"redlock://a,b,c?node_timeout_ms=60001", "up to 60000, not '60001'"},
        Wrong{"redlock://a,b,c?node_timeout_ms=1s", "up to 60000, not '1s'"},
        Wrong{"redlock://a,b,c?node_timeout_ms=99999999999", "up to 60000"},
        Wrong{"redlock://a,b,c?node_timeout_ms=", "node_timeout_ms"},
        Wrong{"redlock://a,b,c?collect=some", "collect is majority or all, not 'some'"},
        Wrong{"redlock://a,b,c?collect=", "collect"},
        Wrong{"redlock://a,b,c?command_timeout_ms=1s", "command_timeout_ms is a number"},
        Wrong{"redlock://a,b,c?verify=no", "write redlocks"},
        Wrong{"redlock://n1,n2,n3,n4,n5,n6,n7,n8,n9,n10,n11,n12,n13,n14,n15,n16,n17,n18,n19,n20,"
              "n21,n22,n23,n24,n25,n26",
              "there are 26 nodes, and at most 25"}),
    number_of);

TEST(RedlockOptions, EveryOptionIsTaken) {
  RedisMasters masters({.count = 3});
  for (const char* options : {"?node_timeout_ms=100", "?node_timeout_ms=60000", "?collect=all",
                              "?collect=majority", "?prefix=p:", "?client_name=till",
                              "?connect_timeout_ms=900&command_timeout_ms=900", "/5"}) {
    Client client = open(masters.url() + options);
    EXPECT_EQ(told(client.mutex("x", kLong).try_acquire_for(5s)), "granted") << options;
  }
}

TEST(RedlockOptions, PrefixesAndDatabasesAreSeparate) {
  RedisMasters masters({.count = 3});
  std::vector<Client> clients;
  std::vector<Lease> leases;
  for (const char* rest : {"", "/7", "?prefix=a:", "/7?prefix=a:"}) {
    clients.push_back(open(masters.url() + rest));
    Result<Lease> lease = clients.back().mutex("x", kLong).try_acquire();
    ASSERT_EQ(told(lease), "granted") << rest;
    leases.push_back(std::move(*lease));
  }
  for (Client& client : clients) {
    EXPECT_EQ(outcome_of(client.mutex("x", kLong).try_acquire()), "busy");
  }
}

// ---- How many ----------------------------------------------------------------------------------

class RedlockOf : public testing::TestWithParam<int> {};

TEST_P(RedlockOf, WorksAndWarnsIfTheNumberIsEven) {
  RedisMasters masters({.count = GetParam()});
  auto listener = std::make_shared<Listener>();
  Client client = open(masters.url(), {.observer = listener});
  Client other = open(masters.url());
  Result<Lease> lease = client.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  EXPECT_EQ(outcome_of(other.mutex("x", kLong).try_acquire()), "busy");
  const Token before = lease->token();
  ASSERT_EQ(told(lease->release()), "granted");
  EXPECT_GT(other.mutex("x", kLong).try_acquire().value().token(), before);
  if (GetParam() % 2 == 0) {
    EXPECT_THAT(listener->warnings(), Contains(HasSubstr("use an odd number")));
  } else {
    EXPECT_THAT(listener->warnings(), Not(Contains(HasSubstr("odd number"))));
  }
}

INSTANTIATE_TEST_SUITE_P(, RedlockOf, testing::Values(1, 2, 3, 4, 5),
                         testing::PrintToStringParamName());

TEST(RedlockOptions, OneOfTwoIsNoMajority) {
  RedisMasters masters({.count = 2});
  Client client = open(masters.url());
  ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  masters.at(1).kill();
  const std::string said = told(client.mutex("y", kLong).try_acquire());
  EXPECT_THAT(said, AnyOf(StartsWith("unreachable"), StartsWith("unknown")));
  EXPECT_THAT(said, HasSubstr("1 of 2 nodes can vote, and 2 are needed"));
}

// ---- What it cannot do -------------------------------------------------------------------------

TEST(RedlockOptions, PermitsAreRefusedWithTheReason) {
  RedisMasters masters({.count = 3});
  Client client = open(masters.url());
  try {
    static_cast<void>(client.semaphore("x", 2, kLong).acquire());
    ADD_FAILURE() << "granted";
  } catch (const LockError& error) {
    EXPECT_EQ(error.code(), Code::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("a quorum cannot count permits"));
  }
  EXPECT_FALSE(client.guarantees().permit_mode);
}

}  // namespace
}  // namespace holdfast::redlock_tests
