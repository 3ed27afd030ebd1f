// A fault of a URL, or of the servers that it leads to, is said by the name of what is
// wrong.
#include "bad_urls.h"
#include "certificates.h"
#include "redis_server.h"
#include "zookeeper_testing.h"

namespace holdfast::zookeeper_tests {
namespace {

class ZooKeeperUrl : public testing::TestWithParam<Wrong> {};

TEST_P(ZooKeeperUrl, WhatIsWrongIsNamed) { expect_refused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    , ZooKeeperUrl,
    testing::Values(Wrong{"zookeeper:127.0.0.1", "must be followed by //"},
                    Wrong{"zookeeper://127.0.0.1:0", "the port is not a number"},
                    Wrong{"zookeeper://me@127.0.0.1", "a user and a password"},
                    Wrong{"zookeeper://:secret@127.0.0.1", "a user and a password"},
                    Wrong{"zookeeper://127.0.0.1/a//b", "an empty part"},
                    Wrong{"zookeeper://127.0.0.1/a/../b", "'.' or '..'"},
                    Wrong{"zookeeper://127.0.0.1/a%0Ab", "control characters"},
                    Wrong{"zookeeper://127.0.0.1/zookeeper/locks", "ZooKeeper's own"},
                    Wrong{"zookeeper://127.0.0.1?nonsense=1", "unknown option 'nonsense'"},
                    Wrong{"zookeeper://127.0.0.1?acl=", "the option 'acl' is empty"},
                    Wrong{"zookeeper://127.0.0.1?acl=mine", "'open' or 'creator'"},
                    Wrong{"zookeeper://127.0.0.1?acl=creator", "needs a login"},
                    Wrong{"zookeeper://127.0.0.1?ca=/x", "write zookeeper+tls"},
                    Wrong{"zookeeper://127.0.0.1?connect_timeout_ms=0", "is a number"},
                    Wrong{"zookeeper+tls://127.0.0.1?verify=maybe", "verify is yes or no"}),
    number_of);

TEST(ZooKeeperOpening, AllSchemesLeadThere) {
  for (const std::string scheme : {"zookeeper", "zk"}) {
    Client client = open(scheme + "://" + shared_server().host() + fresh_chroot());
    EXPECT_EQ(told(client.mutex("x").try_acquire()), "granted") << scheme;
  }
}

TEST(ZooKeeperOpening, AnEnsembleThatCannotBeReachedIsSaidToBeSo) {
  const int nobody = test::free_port();
  const int neither = test::free_port();
  Client client = open(
      "zookeeper://127.0.0.1:" + std::to_string(nobody) + ",127.0.0.1:" + std::to_string(neither),
      {.request_timeout = 2s});
  const Result<Lease> lease = client.mutex("x").try_acquire();
  EXPECT_THAT(told(lease), StartsWith("unreachable"));
  EXPECT_THAT(told(lease), HasSubstr(std::to_string(nobody)));
  EXPECT_THAT(told(lease), HasSubstr(std::to_string(neither)));
  EXPECT_THAT(told(client.inspect("x")), StartsWith("unreachable"));
}

TEST(ZooKeeperOpening, AServerOfAnotherKindIsSaidToBeSo) {
  const test::RedisServer redis;
  Client client = open(url_of(redis.port()), {.request_timeout = 2s});
  EXPECT_THAT(told(client.mutex("x").try_acquire()), StartsWith("unreachable"));
}

TEST(ZooKeeperOpening, WhoIsNotTheFirstIsFoundToo) {
  Client client = open("zookeeper://127.0.0.1:" + std::to_string(test::free_port()) + "," +
                       shared_server().host() + fresh_chroot());
  EXPECT_EQ(told(client.mutex("x").try_acquire()), "granted");
}

TEST(ZooKeeperOpening, WithoutAQuorumNothingIsGrantedAndThenItGoesOn) {
  ZooKeeperEnsemble ensemble;
  Client client = open(ensemble.url(), {.request_timeout = 2s});
  Lease before = client.mutex("before", kLong).acquire().value();
  const std::size_t leader = ensemble.leader();
  ensemble.at(leader).kill();
  ensemble.at((leader + 1) % 3).kill();
  const BootTime begin = BootClock::now();
  const Result<Lease> refused = client.mutex("x", kLong).try_acquire();
  EXPECT_THAT(told(refused), testing::AnyOf(StartsWith("unreachable"), StartsWith("unknown")));
  EXPECT_LT(BootClock::now() - begin, 15s);
  ensemble.at(leader).restart();
  ensemble.wait_until_all_serve();
  EXPECT_TRUE(eventually([&] { return client.mutex("x", kLong).try_acquire().ok(); }));
  EXPECT_TRUE(before.held()) << "30 s have not passed";
  EXPECT_EQ(told(before.release()), "granted");
}

// ---- Rights -----------------------------------------------------------------------------------

TEST(ZooKeeperRights, ALoginOwnsWhatItMakesAndOthersAreToldSo) {
  const std::string chroot = fresh_chroot();
  Client anna = open("zookeeper://anna:secret@" + shared_server().host() + chroot);
  const Lease lease = anna.mutex("x", kLong).acquire().value();
  for (const std::string login : {"", "anna:wrong@", "otto:secret@"}) {
    Client other = open("zookeeper://" + login + shared_server().host() + chroot);
    const Result<Lease> refused = other.mutex("x", kLong).try_acquire();
    EXPECT_THAT(told(refused), StartsWith("misconfigured")) << login;
    EXPECT_THAT(told(refused), HasSubstr(login.empty() ? "log in" : "is the password right"));
    EXPECT_THAT(told(refused), testing::Not(HasSubstr("secret")));
    EXPECT_THAT(told(other.inspect("x")), StartsWith("misconfigured")) << login;
    EXPECT_THAT(told(other.evict("x", lease.token())), StartsWith("misconfigured")) << login;
  }
  Client again = open("zookeeper://anna:secret@" + shared_server().host() + chroot);
  EXPECT_EQ(outcome_of(again.mutex("x", kLong).try_acquire()), "busy");
  EXPECT_TRUE(lease.held());
}

TEST(ZooKeeperRights, ALoginCanLeaveItsLocksOpenToAll) {
  const std::string chroot = fresh_chroot();
  Client anna = open("zookeeper://anna:secret@" + shared_server().host() + chroot + "?acl=open");
  const Lease lease = anna.mutex("x", kLong).acquire().value();
  Client other = open("zookeeper://" + shared_server().host() + chroot);
  EXPECT_EQ(outcome_of(other.mutex("x", kLong).try_acquire()), "busy");
}

TEST(ZooKeeperRights, AChrootThatMayNotBeMadeIsNamed) {
  RawClient root(shared_server().port());
  const std::string chroot = fresh_chroot();
  root.log_in("boss:secret");
  root.create(chroot, {}, zk::CreateMode::persistent, {.scheme = "auth", .id = ""});
  Client client = open(url_of(shared_server().port(), chroot + "/mine"));
  EXPECT_THAT(told(client.mutex("x").try_acquire()), StartsWith("misconfigured"));
  EXPECT_THAT(told(client.mutex("x").try_acquire()), HasSubstr(chroot + "/mine"));
}

// Rights to the lock alone are enough, if somebody else made its node.
TEST(ZooKeeperRights, TheRightToOneLockIsEnough) {
  RawClient root(shared_server().port());
  const std::string chroot = fresh_chroot();
  root.log_in("boss:secret");
  root.create(chroot);
  root.create(chroot + "/x");
  Client client = open(url_of(shared_server().port(), chroot));
  EXPECT_EQ(told(client.mutex("x").try_acquire()), "granted");
}

// ---- TLS --------------------------------------------------------------------------------------

TEST(ZooKeeperTls, LocksAreHadOverTls) {
  ZooKeeperServer server({.tls = true});
  Client one = open(server.url());
  Client two = open(server.url());
  Lease lease = one.mutex("x", kLong).acquire().value();
  EXPECT_EQ(outcome_of(two.mutex("x", kLong).try_acquire()), "busy");
  Mutex mutex = two.mutex("x", kLong);
  Pending waiting = in_thread([&] { return mutex.acquire(); });
  ASSERT_TRUE(queue_reaches(one, "x", 1));
  ASSERT_TRUE(lease.release());
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(told(waiting.get()), "granted");
  const std::string wrong =
      "zookeeper+tls://" + server.host() + "?ca=" + test::Certificates::shared().other_ca();
  EXPECT_THAT(told(open(wrong).mutex("x").try_acquire()), StartsWith("misconfigured"));
  EXPECT_THAT(
      told(open("zookeeper://" + server.host(), {.request_timeout = 3s}).mutex("x").try_acquire()),
      StartsWith("unreachable"));
}

}  // namespace
}  // namespace holdfast::zookeeper_tests
