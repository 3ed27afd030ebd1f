// Rows 1, 18 and 22 on MySQL and PostgreSQL, each recipe: a holder that pauses, whose connection is
// killed, or that dies.
#include "child.h"
#include "database.h"
#include "proxy.h"
#include "scenario_testing.h"

namespace holdfast::scenarios {
namespace {

using contract::Child;
using test::Proxy;
using test::ProxyMode;

constexpr LockOptions kBrief{.ttl = 1s};

struct Subject {
  std::string database;
  std::string recipe;
  bool in_session() const { return recipe != "table"; }  // the lock lives in a connection
};

std::string name_of(const testing::TestParamInfo<Subject>& subject) {
  return subject.param.database + "_" + subject.param.recipe;
}

// Looked at its lease once, and does not look again.
Judge::Worker careless(const Lease& lease) {
  return {[] { return true; }, lease.token()};
}

class DatabaseLeases : public testing::TestWithParam<Subject> {
 protected:
  std::string url() const { return url_through(server_.port()); }
  std::string url_through(int port) const { return server_.url(port, GetParam().recipe); }

  Database& server_ = database(GetParam().database);
  Judge judge_;
};

INSTANTIATE_TEST_SUITE_P(All, DatabaseLeases,
                         testing::Values(Subject{"mysql", "table"}, Subject{"mysql", "named"},
                                         Subject{"mysql", "row"}, Subject{"postgres", "table"},
                                         Subject{"postgres", "advisory"},
                                         Subject{"postgres", "row"}),
                         name_of);

// Row 1.
// given  A holds, and has looked at its lease
// when   it is paused, all of it, for longer than its ttl: the server drops it; B acquires and works
// then   without a fence an update is lost, with one none is
TEST_P(DatabaseLeases, APauseAfterTheLastLookIsForTheFence) {
  Proxy way_of_a(server_.port());
  Client a = open(url_through(way_of_a.port()) + "&command_timeout_ms=500");
  Client b = open(url());
  const Lease of_a = a.mutex("paused", kBrief).acquire().value();
  way_of_a.set_both(ProxyMode::hold);  // It renews nothing: for the server it is as good as paused.
  const Result<Lease> of_b = b.mutex("paused", kUnrenewed).try_acquire_for(30s);
  ASSERT_EQ(told(of_b), "granted");
  EXPECT_GT(of_b->token(), of_a.token());
  EXPECT_FALSE(of_a.held()) << "who looks again is told";
  EXPECT_EQ(judge_.judge(careless(of_a), Judge::worker(of_b)), kOverlapWithoutHarmToTheFenced);
}

// Row 1, while the connection lives.
// given  A holds; its client renews
// when   only the one who works pauses, for longer than the ttl
// then   B does not get the lock
TEST_P(DatabaseLeases, APauseWhileTheConnectionLivesIsSafe) {
  Client a = open(url());
  Client b = open(url());
  const Lease of_a = a.mutex("alive", kBrief).acquire().value();
  const Result<Lease> of_b = b.mutex("alive", kUnrenewed).try_acquire_for(1500ms);
  EXPECT_EQ(outcome_of(of_b), "busy");
  EXPECT_EQ(judge_.judge(careless(of_a), Judge::worker(of_b)), kSafe);
}

// Row 18.
// given  A holds
// when   the server kills its connection, and B acquires
// then   a lock that lives in it is lost: lost() fires, and who listens to it does no harm; for who
//        does not there is the fence. A lease that is a row does not notice.
TEST_P(DatabaseLeases, AKilledConnectionIsToldOrDoesNotMatter) {
  Client a = open(url());
  Lease of_a = a.mutex("killed", LockOptions{.ttl = 30s}).acquire().value();
  server_.kill_sessions();
  Client b = open(url());
  if (!GetParam().in_session()) {
    const Result<Lease> of_b = b.mutex("killed", kUnrenewed).try_acquire();
    EXPECT_EQ(outcome_of(of_b), "busy");
    EXPECT_TRUE(of_a.renew());
    EXPECT_EQ(judge_.judge(Judge::worker(of_a), Judge::worker(of_b)), kSafe);
    return;
  }
  ASSERT_TRUE(eventually([&] { return of_a.lost().stop_requested(); })) << "nobody told";
  const Result<Lease> of_b = b.mutex("killed", kUnrenewed).try_acquire_for(30s);
  ASSERT_EQ(told(of_b), "granted");
  EXPECT_EQ(judge_.judge(Judge::worker(of_a), Judge::worker(of_b)), kSafe);
  EXPECT_EQ(judge_.judge(careless(of_a), Judge::worker(of_b)), kOverlapWithoutHarmToTheFenced);
}

// Row 22.
// given  A holds
// when   it dies
// then   B gets the lock, at the latest after A's ttl
TEST_P(DatabaseLeases, TheLockOfADeadHolderIsFreeByItsTtl) {
  Child a(url());
  ASSERT_THAT(a.ask("acquire dead 1000"), testing::StartsWith("granted"));
  a.kill();
  Client b = open(url());
  EXPECT_EQ(told(b.mutex("dead", kUnrenewed).try_acquire_for(30s)), "granted");
}

// Row 22, as it is usually made: a table with a unique key, and nothing that ends a row.
class NaiveLockTable : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, NaiveLockTable, testing::Values("mysql", "postgres"),
                         [](const auto& name) { return name.param; });

TEST_P(NaiveLockTable, TheLockOfADeadHolderIsStrandedForEver) {
  Database& server = database(GetParam());
  auto b = server.session(server.port());
  b->value("CREATE TABLE naive (name VARCHAR(50) PRIMARY KEY)");
  const std::string insert = "INSERT INTO naive VALUES ('x')";
  auto a = server.session(server.port());
  a->value(insert);
  a.reset();  // It dies.
  server.clock().jump(24h * 365);
  EXPECT_THROW(b->value(insert), std::runtime_error);
  server.clock().jump(-24h * 365);
}

}  // namespace
}  // namespace holdfast::scenarios
