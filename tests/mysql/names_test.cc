// The names of named locks: others that call GET_LOCK take part, and no two names are one lock.
#include "mysql_testing.h"

namespace holdfast::mysql_tests {
namespace {

class MysqlNames : public MysqlTest {
 protected:
  Client client = open(server().url("recipe=named"));
};

TEST_F(MysqlNames, WhoCallsGetLockWithThePlainNameTakesPart) {
  MariadbClient other(server().port());
  {
    const Lease lease = client.mutex("jobs/nightly", kLong).acquire().value();
    EXPECT_EQ(other.value("SELECT GET_LOCK('jobs/nightly', 0)"), "0");
  }
  EXPECT_EQ(other.value("SELECT GET_LOCK('jobs/nightly', 0)"), "1");
  Mutex mutex = client.mutex("jobs/nightly", kLong);
  EXPECT_EQ(outcome_of(mutex.try_acquire()), "busy");
  const LockInfo info = client.inspect("jobs/nightly").value();
  ASSERT_EQ(info.holders.size(), 1U);
  EXPECT_THAT(info.holders[0].label, StartsWith("connection "));
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(
      eventually([&] { return client.inspect("jobs/nightly").value().waiters.size() == 1; }));
  EXPECT_EQ(other.value("SELECT RELEASE_LOCK('jobs/nightly')"), "1");
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(told(waiting.get()), "granted");
}

TEST_F(MysqlNames, UpperAndLowerCaseAndLongNamesAreDifferentLocks) {
  const std::string long_name(300, 'x');
  std::vector<Lease> leases;
  for (const std::string& name :
       {std::string("case"), std::string("Case"), std::string("CASE"), std::string("case "),
        long_name, long_name + "y", std::string(64, 'z'), std::string(65, 'z')}) {
    Result<Lease> lease = client.mutex(name, kLong).try_acquire();
    ASSERT_EQ(told(lease), "granted") << name;
    leases.push_back(std::move(lease).value());
  }
}

TEST_F(MysqlNames, WithoutTokensThereIsNoTableAndTheGuaranteesSaySo) {
  server().query("CREATE DATABASE IF NOT EXISTS bare");
  Client bare = open("mysql://root@127.0.0.1:" + std::to_string(server().port()) +
                     "/bare?recipe=named&tokens=no");
  EXPECT_EQ(bare.guarantees().token, TokenStrength::none);
  Mutex mutex = bare.mutex("bare", kLong);
  Lease lease = mutex.acquire().value();
  EXPECT_EQ(outcome_of(mutex.try_acquire()), "busy");
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  pause_for(50ms);
  EXPECT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(told(waiting.get()), "granted");
  EXPECT_EQ(server().value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = "
                           "'bare'"),
            "0");
}

}  // namespace
}  // namespace holdfast::mysql_tests
