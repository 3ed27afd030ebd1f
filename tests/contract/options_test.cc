// Wrong values are refused when the lock is made, not when it is needed.
#include "contract.h"

namespace holdfast::contract {

HOLDFAST_CONTRACT(OptionsTest);

namespace {

// The answer of each way to make a lock to these options.
std::vector<std::string> refusals(Client& client, const LockOptions& options) {
  std::vector<std::string> said{
      thrown_by([&] { client.mutex("x", options); }),
      thrown_by([&] { client.recursive_mutex("x", options); }),
      thrown_by([&] { client.multi_lock({"x", "y"}, options); }),
      thrown_by([&] { client.election("x", options); }),
  };
  if (client.guarantees().shared_mode) {
    said.push_back(thrown_by([&] { client.shared_mutex("x", options); }));
  }
  if (client.guarantees().permit_mode) {
    said.push_back(thrown_by([&] { client.semaphore("x", 2, options); }));
  }
  return said;
}

}  // namespace

TEST_P(OptionsTest, AnImpossibleTtlIsRefusedWhenTheLockIsMade) {
  Client client = open();
  const Duration least = client.guarantees().min_ttl;
  for (const Duration ttl : {Duration(0), Duration(-1), Duration(-1s), Duration::min(),
                             Duration::max(), Duration(10'000h), least - 1ns}) {
    EXPECT_THAT(refusals(client, {.ttl = ttl}), testing::Each("invalid_argument")) << ttl.count();
  }
  EXPECT_TRUE(client.list().value().empty());
}

TEST_P(OptionsTest, TheShortestAndTheLongestTtlAreAccepted) {
  Client client = open();
  EXPECT_THAT(refusals(client, {.ttl = client.guarantees().min_ttl}), testing::Each("nothing"));
  EXPECT_THAT(refusals(client, {.ttl = 24h * 30}), testing::Each("nothing"));
  Result<Lease> longest = client.mutex("x", {.ttl = 24h * 30}).acquire();
  ASSERT_EQ(outcome_of(longest), "granted");
  EXPECT_TRUE(longest->held());
}

TEST_P(OptionsTest, AWarningOutOfRangeIsRefused) {
  Client client = open();
  for (const Duration warning : {Duration(-1), Duration(0), Duration(-1s), Duration::min(),
                                 Duration(15s + 1ns), Duration(30s), Duration::max()}) {
    EXPECT_THAT(refusals(client, {.ttl = 30s, .warn_before = warning}),
                testing::Each("invalid_argument"))
        << warning.count();
  }
  EXPECT_THAT(refusals(client, {.ttl = 30s, .warn_before = 1ms}), testing::Each("nothing"));
  EXPECT_THAT(refusals(client, {.ttl = 30s, .warn_before = 15s}), testing::Each("nothing"));
}

TEST_P(OptionsTest, ASemaphoreWithoutPermitsIsRefused) {
  HOLDFAST_NEEDS(permit_mode);
  Client client = open();
  EXPECT_EQ(thrown_by([&] { client.semaphore("x", 0); }), "invalid_argument");
}

TEST_P(OptionsTest, WhatTheEngineCannotPromiseIsRefusedWhenTheLockIsMade) {
  Client client = open();
  const Guarantees& can = client.guarantees();
  for (const Exclusion wanted :
       {Exclusion::best_effort, Exclusion::bounded_by_clocks, Exclusion::linearizable}) {
    const std::string expected = wanted > can.exclusion ? "unsupported" : "nothing";
    EXPECT_THAT(refusals(client, {.require = {.exclusion = wanted}}), testing::Each(expected))
        << to_text(wanted);
  }
  for (const TokenStrength wanted :
       {TokenStrength::none, TokenStrength::volatile_memory, TokenStrength::durable_one_node,
        TokenStrength::quorum, TokenStrength::linearizable}) {
    const std::string expected = wanted > can.token ? "unsupported" : "nothing";
    EXPECT_THAT(refusals(client, {.require = {.token = wanted}}), testing::Each(expected))
        << to_text(wanted);
  }
}

TEST_P(OptionsTest, ModesThatTheEngineHasNotAreRefused) {
  Client client = open();
  EXPECT_EQ(client.guarantees().shared_mode, engine().shared_mode);
  EXPECT_EQ(client.guarantees().permit_mode, engine().permit_mode);
  if (!engine().shared_mode) {
    EXPECT_EQ(thrown_by([&] { client.shared_mutex("x"); }), "unsupported");
  }
  if (!engine().permit_mode) {
    EXPECT_EQ(thrown_by([&] { client.semaphore("x", 2); }), "unsupported");
  }
}

TEST_P(OptionsTest, TheEngineIsAmongThoseThatTheLibraryShows) {
  Client client = open();
  const auto built_in = Client::engines();
  EXPECT_TRUE(std::any_of(built_in.begin(), built_in.end(), [&](const Client::BuiltIn& one) {
    return one.guarantees.engine == client.guarantees().engine && !one.example_url.empty();
  }));
}

TEST(OpenTest, AnUnknownSchemeIsRefusedWithTheKnownOnes) {
  const Result<Client> refused = Client::open("carrier-pigeon://coop/7");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.code(), Code::invalid_argument);
  EXPECT_THAT(refused.message(), testing::HasSubstr("sqlite"));
}

TEST(OpenTest, ADatabaseInMemoryIsRefusedWithTheEngineThatIsMeant) {
  for (const std::string url :
       {"sqlite::memory:", "sqlite://:memory:", "sqlite:///:memory:", "sqlite:file::memory:",
        "sqlite:x?mode=memory", "sqlite:%3Amemory%3A"}) {
    const Result<Client> refused = Client::open(url);
    ASSERT_FALSE(refused) << url;
    EXPECT_EQ(refused.code(), Code::invalid_argument) << url;
    EXPECT_THAT(refused.message(), testing::HasSubstr("memory:NAME")) << url;
  }
}

TEST(OpenTest, LocksInMemoryAreOfOneClientOrOfAllThatNameThem) {
  Client alone = Client::open("memory:").value();
  Client apart = Client::open("memory:").value();
  Client one = Client::open("memory:open-test").value();
  Client two = Client::open("MEMORY:open-test").value();
  const Lease first = alone.mutex("x").acquire().value();
  const Lease second = one.mutex("x").acquire().value();
  EXPECT_EQ(outcome_of(apart.mutex("x").try_acquire()), "granted");
  EXPECT_EQ(outcome_of(two.mutex("x").try_acquire()), "busy");
  for (const char* url : {"memory://x", "memory:x?prefix=y", "memory://"}) {
    EXPECT_EQ(outcome_of(Client::open(url)), "invalid_argument") << url;
  }
}

TEST(OpenTest, APasswordNeverShowsInAMessage) {
  for (const std::string url :
       {"carrier-pigeon://user:s3cr3t@coop/7", "bad scheme://user:s3cr3t@coop/7",
        "sqlite://user:s3cr3t@/tmp/x", "sqlite://user:s3cr3t@host/tmp/x?colour=red",
        "sqlite:///tmp/x?password=s3cr3t", "sqlite:///tmp/x?secret=s3cr3t&colour=red",
        "://user:s3cr3t@host", "user:s3cr3t@host", "sqlite://u:s3cr3t%zz@h/x"}) {
    const Result<Client> refused = Client::open(url);
    ASSERT_FALSE(refused) << url;
    EXPECT_EQ(refused.code(), Code::invalid_argument) << url;
    EXPECT_THAT(refused.message(), testing::Not(testing::HasSubstr("s3cr3t"))) << url;
  }
}

}  // namespace holdfast::contract
