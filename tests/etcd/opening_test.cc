// A fault of a URL, a login, a right or a server is said by its name.
#include "bad_urls.h"
#include "certificates.h"
#include "etcd_testing.h"
#include "redis_server.h"

namespace holdfast::etcd_tests {
namespace {

using test::Certificates;

class EtcdUrl : public testing::TestWithParam<Wrong> {};

TEST_P(EtcdUrl, WhatIsWrongIsNamed) { expect_refused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    , EtcdUrl,
    testing::Values(Wrong{"etcd:127.0.0.1", "must be followed by //"},
                    Wrong{"etcd://me@127.0.0.1", "USER:PASSWORD@"},
                    Wrong{"etcd://:secret@127.0.0.1", "USER:PASSWORD@"},
                    Wrong{"etcd://127.0.0.1:0", "the port is not a number"},
                    Wrong{"etcd://127.0.0.1,,127.0.0.2", "the host is missing"},
                    Wrong{"etcd://127.0.0.1/locks", "?prefix=/locks"},
                    Wrong{"etcd://127.0.0.1?prefix=", "the option 'prefix' is empty"},
                    Wrong{"etcd://127.0.0.1?nonsense=1", "unknown option 'nonsense'"},
                    Wrong{"etcd://127.0.0.1?ca=/x", "write etcds"},
                    Wrong{"etcds://127.0.0.1?verify=perhaps", "verify is yes or no"},
                    Wrong{"etcd://127.0.0.1?command_timeout_ms=1s", "command_timeout_ms is"}),
    number_of);

TEST(EtcdOpening, AClusterThatIsNotThereIsUnreachable) {
  const std::string url = "etcd://127.0.0.1:" + std::to_string(test::free_port()) +
                          ",127.0.0.1:" + std::to_string(test::free_port());
  Client client = open(url);
  const BootTime begin = BootClock::now();
  EXPECT_EQ(outcome_of(client.mutex("x", kLong).try_acquire()), "unreachable");
  EXPECT_EQ(outcome_of(client.mutex("x", kLong).try_acquire_for(500ms)), "unreachable");
  EXPECT_EQ(outcome_of(client.inspect("x")), "unreachable");
  EXPECT_LT(since(begin), 10s);
}

TEST(EtcdOpening, OneMemberThatIsThereIsEnoughToBeginWith) {
  EtcdServer server;
  Client client = open(server.url_of({test::free_port(), test::free_port(), server.port()}));
  EXPECT_EQ(told(client.mutex("x", kLong).try_acquire()), "granted");
}

TEST(EtcdOpening, AnotherKindOfServerIsNamed) {
  const test::RedisServer redis;
  Client client = open("etcd://127.0.0.1:" + std::to_string(redis.port()));
  EXPECT_THAT(told(client.mutex("x", kLong).try_acquire()), HasSubstr("gRPC"));
}

TEST(EtcdLogin, AWrongPasswordIsNamedAndNotShown) {
  EtcdServer server({.password = "rightone"});
  Client good = open(server.url());
  EXPECT_EQ(told(good.mutex("x", kLong).try_acquire()), "granted");
  Client bad = open("etcd://root:wrongone@127.0.0.1:" + std::to_string(server.port()));
  const Result<Lease> refused = bad.mutex("x", kLong).try_acquire();
  EXPECT_THAT(told(refused), HasSubstr("misconfigured"));
  EXPECT_THAT(told(refused), HasSubstr("refuses the user or the password"));
  EXPECT_THAT(told(refused), Not(HasSubstr("wrongone")));
  Client none = open("etcd://127.0.0.1:" + std::to_string(server.port()));
  EXPECT_THAT(told(none.mutex("x", kLong).try_acquire()), HasSubstr("wants a login"));
}

TEST(EtcdLogin, AUserWithoutTheRightToTheKeysIsToldSo) {
  EtcdServer server({.password = "pw"});
  server.ctl({"role", "add", "app"});
  server.ctl({"role", "grant-permission", "app", "--prefix=true", "readwrite", "app/"});
  server.ctl({"user", "add", "me:mine"});
  server.ctl({"user", "grant-role", "me", "app"});
  const std::string place = "etcd://me:mine@127.0.0.1:" + std::to_string(server.port());
  Client mine = open(place + "?prefix=app/");
  {
    Lease lease = mine.mutex("x", kLong).try_acquire().value();
    EXPECT_EQ(told(lease.renew()), "granted");
    EXPECT_EQ(told(mine.inspect("x")), "granted");
    Client other = open(place + "?prefix=app/");
    Pending waiting = in_thread([&] { return other.mutex("x", kLong).try_acquire_for(20s); });
    ASSERT_TRUE(eventually([&] { return waiters(mine, "x") == 1; }));
    EXPECT_EQ(told(lease.release()), "granted");
    EXPECT_EQ(told(waiting.get()), "granted");
  }
  Client elsewhere = open(place + "?prefix=other/");
  const Result<Lease> refused = elsewhere.mutex("x", kLong).try_acquire();
  EXPECT_THAT(told(refused), HasSubstr("misconfigured"));
  EXPECT_THAT(told(refused), HasSubstr("the user 'me' has no right"));
  EXPECT_THAT(told(elsewhere.mutex("x", kLong).acquire()), HasSubstr("no right"));
}

// A role exactly as docs/engines/etcd.md grants it: for all locks, or for a single one.
class EtcdRights : public testing::TestWithParam<const char*> {};

TEST_P(EtcdRights, TheDocumentedRoleIsEnoughAlsoAfterIdlingAndAfterAWait) {
  EtcdServer server({.password = "pw"});
  server.ctl({"role", "add", "app"});
  server.ctl({"role", "grant-permission", "app", "--prefix=true", "readwrite", GetParam()});
  server.ctl({"user", "add", "me:mine"});
  server.ctl({"user", "grant-role", "me", "app"});
  const std::string url =
      "etcd://me:mine@127.0.0.1:" + std::to_string(server.port()) + "?prefix=/locks/";
  Client client = open(url);
  Client other = open(url);
  const LockOptions brief{.ttl = 2s};
  Result<Lease> first = client.mutex("job", brief).try_acquire();
  ASSERT_EQ(told(first), "granted");
  ASSERT_EQ(told(first->release()), "granted");
  pause_for(1500ms);  // Its lease has to be proven anew, by a read.
  Result<Lease> second = client.mutex("job", brief).try_acquire();
  ASSERT_EQ(told(second), "granted") << "after idling";
  Pending waiting = in_thread([&] { return other.mutex("job", brief).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return waiters(client, "job") == 1; }));
  pause_for(1500ms);
  ASSERT_EQ(told(second->release()), "granted");
  Result<Lease> third = waiting.get();
  ASSERT_EQ(told(third), "granted") << "after a wait";
  EXPECT_EQ(told(third->renew()), "granted");
  const Result<Handle> handle = third->detach();
  ASSERT_EQ(told(handle), "granted");
  EXPECT_EQ(told(client.release(*handle)), "granted");
  EXPECT_EQ(told(client.inspect("job")), "granted");
  const Result<Leader> nobody = client.election("job").leader();
  EXPECT_EQ(told(nobody), "granted");
}

INSTANTIATE_TEST_SUITE_P(, EtcdRights, testing::Values("/locks/", "/locks/job/"),
                         [](const testing::TestParamInfo<const char*>& prefix) {
                           return std::string(prefix.index == 0 ? "AllLocks" : "OneLock");
                         });

// A token ends when it was not used for a time, or when its member was restarted.
TEST(EtcdLogin, AnExpiredLoginIsMadeAnew) {
  EtcdServer server({.password = "pw", .arguments = {"--auth-token-ttl", "1"}});
  Client client = open(server.url());
  Client other = open(server.url());
  Lease lease = client.mutex("x", kLong).try_acquire().value();
  pause_for(2500ms);
  EXPECT_EQ(told(client.mutex("y", kLong).try_acquire()), "granted");
  EXPECT_EQ(outcome_of(other.mutex("x", kLong).try_acquire()), "busy");
  Pending waiting = in_thread([&] { return other.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return waiters(client, "x") == 1; }));
  pause_for(2500ms);
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(told(lease.release()), "granted");
  EXPECT_EQ(told(waiting.get()), "granted");
}

TEST(EtcdTls, CertificatesAreChecked) {
  EtcdServer server({.tls = true, .client_certificates = true});
  const Certificates& certificates = Certificates::shared();
  const std::string place = "127.0.0.1:" + std::to_string(server.port());
  Client good = open(server.url());
  EXPECT_EQ(told(good.mutex("x", kLong).try_acquire()), "granted");

  Client other_ca = open("etcds://" + place + "?ca=" + certificates.other_ca());
  EXPECT_THAT(told(other_ca.mutex("x", kLong).try_acquire()), HasSubstr("not trusted"));
  Client no_certificate = open("etcds://" + place + "?ca=" + certificates.ca());
  EXPECT_THAT(outcome_of(no_certificate.mutex("x", kLong).try_acquire()),
              AnyOf("misconfigured", "unreachable"));
  Client plain = open("etcd://" + place);
  EXPECT_THAT(told(plain.mutex("x", kLong).try_acquire()), HasSubstr("want TLS"));
  EXPECT_THAT(told(Client::open("etcds://" + place + "?ca=/no/such/file")),
              HasSubstr("misconfigured"));
}

}  // namespace
}  // namespace holdfast::etcd_tests
