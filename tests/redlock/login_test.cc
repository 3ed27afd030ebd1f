// One login for all nodes; a node that refuses it has no vote.
#include "redlock_testing.h"

namespace holdfast::redlock_tests {
namespace {

class RedlockLogin : public testing::Test {
 protected:
  // At the first `count` nodes.
  void make_user(std::vector<std::string> rules, std::size_t count = 3) {
    std::vector<std::string> command{"ACL", "SETUSER", "locker", "reset", "on", ">pw"};
    command.insert(command.end(), rules.begin(), rules.end());
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(masters_.at(i).command(command), "OK");
  }
  std::string url(const std::string& login = "locker:pw") const {
    return masters_.url().insert(std::string("redlock://").size(), login + "@");
  }

  RedisMasters masters_{{.count = 3}};
};

TEST_F(RedlockLogin, AUserAndPasswordAreForAllNodes) {
  make_user({"~*", "&*", "+@all"});
  EXPECT_EQ(try_at(url()), "granted");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(masters_.at(i).command({"ACL", "LOG"}), Not(HasSubstr("locker")));
  }
}

TEST_F(RedlockLogin, AWrongPasswordAtOneNodeLeavesTheMajority) {
  make_user({"~*", "&*", "+@all"});
  ASSERT_EQ(try_at(url()), "granted");
  masters_.at(2).command({"ACL", "DELUSER", "locker"});
  Client client = open(url());
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire_for(1s)), "granted");
}

TEST_F(RedlockLogin, TheFirstUseNeedsAllNodesAndNamesTheOneThatIsMissing) {
  make_user({"~*", "&*", "+@all"}, 2);  // The third knows no such user.
  const std::string said = try_at(url());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("all of them must be there"));
  EXPECT_THAT(said, HasSubstr(":" + std::to_string(masters_.at(2).port())));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(masters_.at(i).command({"EXISTS", kMarker}), "0");
  }
}

TEST_F(RedlockLogin, AWrongPasswordEverywhereIsSaidAndNotShown) {
  make_user({"~*", "&*", "+@all"});
  const std::string said = try_at(url("locker:wr0ng-s3cret"));
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("the user or password is wrong"));
  EXPECT_THAT(said, Not(HasSubstr("wr0ng-s3cret")));
}

TEST_F(RedlockLogin, AWrongPasswordAtAMajorityIsSaid) {
  make_user({"~*", "&*", "+@all"}, 1);
  const std::string said = try_at(url());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("the user or password is wrong"));
}

TEST_F(RedlockLogin, AMissingPasswordIsSaid) {
  for (std::size_t i = 0; i < 3; ++i) {
    masters_.at(i).command({"CONFIG", "SET", "requirepass", "pw"});
  }
  const std::string said = try_at(masters_.url());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("it wants a password"));
  EXPECT_EQ(try_at(url(":pw")), "granted");
}

TEST_F(RedlockLogin, ANodeThatComesToRefuseTheLoginIsLeftOut) {
  make_user({"~*", "&*", "+@all"});
  Client client = open(url());
  ASSERT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  masters_.at(2).command({"ACL", "DELUSER", "locker"});  // This ends its connections as well.
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(told(client.mutex("x", kLong).try_acquire_for(1s)), "granted");
  }
  masters_.at(1).command({"ACL", "DELUSER", "locker"});
  EXPECT_THAT(told(client.mutex("x", kLong).try_acquire()), Not(HasSubstr("granted")));
  make_user({"~*", "&*", "+@all"});
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire_for(10s)), "granted")
      << "once is not for ever";
}

// ---- Rights ------------------------------------------------------------------------------------

TEST_F(RedlockLogin, WithoutTheRightToInfoNobodyVotes) {
  make_user({"~*", "&*", "+@all", "-info"});
  const std::string said = try_at(url());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("the user needs the right to INFO"));
}

TEST_F(RedlockLogin, WithoutTheRightToRunScriptsNobodyVotes) {
  make_user({"~*", "&*", "+@all", "-eval", "-evalsha", "-script"});
  const std::string said = try_at(url());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("lacks rights"));
}

TEST_F(RedlockLogin, ANodeWhereItLacksRightsLeavesTheMajority) {
  make_user({"~*", "&*", "+@all"});
  ASSERT_EQ(try_at(url()), "granted");
  masters_.at(1).command({"ACL", "SETUSER", "locker", "-eval", "-evalsha", "-script"});
  Client client = open(url());
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire_for(1s)), "granted");
}

TEST_F(RedlockLogin, RightsToOtherKeysOnlyAreSaid) {
  make_user({"~other:*", "&*", "+@all"});
  const std::string said = try_at(url());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("lacks rights"));
}

// ---- Full --------------------------------------------------------------------------------------

TEST_F(RedlockLogin, AFullNodeLeavesTheMajorityAndAFullMajorityIsSaid) {
  Client client = open(masters_.url());
  Result<Lease> lease = client.mutex("held", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  masters_.at(0).command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
  masters_.at(1).command({"CONFIG", "SET", "maxmemory", "1"});
  const std::string said = told(client.mutex("y", kLong).try_acquire());
  EXPECT_THAT(said, StartsWith("unreachable"));
  EXPECT_THAT(said, HasSubstr("out of memory"));
  EXPECT_EQ(told(lease->renew()), "granted") << "what is held can be kept";
  EXPECT_EQ(told(lease->release()), "granted") << "and given back";
  for (const std::size_t i : {0, 1}) masters_.at(i).command({"CONFIG", "SET", "maxmemory", "0"});
  expect_free_soon(client, "y");
  expect_free_soon(client, "held");
}

}  // namespace
}  // namespace holdfast::redlock_tests
