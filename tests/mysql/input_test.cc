// URLs, logins, rights, limits: what is wrong is said, with what to do.
#include "certificates.h"
#include "mysql_testing.h"

namespace holdfast::mysql_tests {

HOLDFAST_SESSION_TESTS(MysqlInput);

TEST_P(MysqlInput, AWrongPasswordIsRefusedAndNeverShown) {
  server().query("CREATE USER IF NOT EXISTS somebody@'%' IDENTIFIED BY 'right'");
  const std::string said =
      try_at("mysql://somebody:secret77@127.0.0.1:" + std::to_string(server().port()) +
             "/holdfast?recipe=" + recipe());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("user or password is wrong"));
  EXPECT_THAT(said, testing::Not(HasSubstr("secret77")));
}

TEST_P(MysqlInput, AMissingDatabaseIsNamed) {
  const std::string said = try_at("mysql://root@127.0.0.1:" + std::to_string(server().port()) +
                                  "/nowhere?recipe=" + recipe());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("nowhere"));
}

TEST_P(MysqlInput, MissingRightsAreSaid) {
  server().query("CREATE USER IF NOT EXISTS poor@'%' IDENTIFIED BY 'pw'");
  server().query("CREATE DATABASE IF NOT EXISTS closed");
  server().query("GRANT SELECT ON closed.* TO poor@'%'");
  const std::string said = try_at("mysql://poor:pw@127.0.0.1:" + std::to_string(server().port()) +
                                  "/closed?recipe=" + recipe());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("lacks rights"));
}

TEST_P(MysqlInput, WithoutTheRightToMakeTablesTheAdministratorIsToldHow) {
  server().query("CREATE DATABASE IF NOT EXISTS empty_" + recipe());
  const std::string said = try_at("mysql://root@127.0.0.1:" + std::to_string(server().port()) +
                                  "/empty_" + recipe() + "?create_schema=no&recipe=" + recipe());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("CREATE TABLE"));
  EXPECT_EQ(server().value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = "
                           "'empty_" +
                           recipe() + "'"),
            "0");
}

// A user with the rights that the documentation names, and no others.
TEST_P(MysqlInput, TheDocumentedRightsSuffice) {
  EXPECT_EQ(try_at(url()), "granted");  // The tables are there.
  server().query("CREATE USER IF NOT EXISTS app@'%' IDENTIFIED BY 'pw'");
  server().query("GRANT SELECT, INSERT, UPDATE ON holdfast.* TO app@'%'");
  const std::string where = "mysql://app:pw@127.0.0.1:" + std::to_string(server().port()) +
                            "/holdfast?recipe=" + recipe();
  Client client = open(where);
  Lease lease = client.mutex("rights", kLong).acquire().value();
  EXPECT_EQ(outcome_of(client.mutex("rights").try_acquire_for(50ms)), "busy");
  EXPECT_EQ(client.inspect("rights").value().holders.size(), 1U);
  EXPECT_EQ(client.list("rights").value().size(), 1U);
  EXPECT_EQ(told(client.evict("rights", lease.token())), "granted");
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
}

TEST_P(MysqlInput, AReadOnlyServerIsSaidToBeOne) {
  MariadbServer own;
  EXPECT_EQ(try_at(url_on(own)), "granted");
  own.query("CREATE USER app@'%' IDENTIFIED BY 'pw'");
  own.query("GRANT SELECT, INSERT, UPDATE ON holdfast.* TO app@'%'");
  own.query("SET GLOBAL read_only = 1");
  const std::string where =
      "mysql://app:pw@127.0.0.1:" + std::to_string(own.port()) + "/holdfast?recipe=" + recipe();
  const std::string said = try_at(where);
  EXPECT_THAT(said, StartsWith("unreachable"));
  EXPECT_THAT(said, HasSubstr("replica"));
  own.query("SET GLOBAL read_only = 0");
  EXPECT_EQ(try_at(where), "granted") << "something was left behind";
}

TEST_P(MysqlInput, AServerWithoutConnectionsLeftIsSaidToBeOne) {
  MariadbServer own({.arguments = {"--max-connections=10"}});
  Client client = open(url_on(own));
  std::vector<Lease> leases;
  std::string said = "granted";
  for (int i = 0; i < 20 && said == "granted"; ++i) {
    Result<Lease> lease = client.mutex("x" + std::to_string(i), kLong).try_acquire();
    said = told(lease);
    if (lease) leases.push_back(std::move(lease).value());
  }
  EXPECT_THAT(said, StartsWith("unreachable"));
  EXPECT_THAT(said, HasSubstr("max_connections"));
  EXPECT_GT(leases.size(), 4U);
  for (const Lease& lease : leases) EXPECT_TRUE(lease.held());
  leases.clear();
  EXPECT_EQ(told(client.mutex("x19", kLong).try_acquire_for(5s)), "granted");
}

TEST_P(MysqlInput, TheLimitOfConnectionsInTheUrlIsKept) {
  Client client = open(url("connections=3"));
  const Lease one = client.mutex("l1", kLong).acquire().value();
  std::vector<Lease> more;
  std::string said = "granted";
  for (int i = 0; i < 4 && said == "granted"; ++i) {
    Result<Lease> lease = client.mutex("l2" + std::to_string(i), kLong).try_acquire();
    said = told(lease);
    if (lease) more.push_back(std::move(lease).value());
  }
  EXPECT_THAT(said, StartsWith("unreachable"));
  EXPECT_THAT(said, HasSubstr("connections=N"));
}

TEST_P(MysqlInput, NobodyListensThere) {
  const std::string said = try_at("mysql://root@127.0.0.1:1/holdfast?recipe=" + recipe());
  EXPECT_THAT(said, StartsWith("unreachable"));
}

TEST_P(MysqlInput, AUnixSocketWorks) {
  EXPECT_EQ(try_at("mysql://root@localhost/holdfast?recipe=" + recipe() +
                   "&socket=" + server().unix_path()),
            "granted");
}

TEST_P(MysqlInput, TlsTrustsWhomItIsToldTo) {
  MariadbServer own({.tls = true});
  own.query("CREATE USER tls@'%' IDENTIFIED BY 'pw' REQUIRE SSL");
  own.query("GRANT ALL ON holdfast.* TO tls@'%'");
  const std::string where =
      "mysql://tls:pw@127.0.0.1:" + std::to_string(own.port()) + "/holdfast?recipe=" + recipe();
  const test::Certificates& files = test::Certificates::shared();
  EXPECT_EQ(try_at(where + "&tls=yes&ca=" + files.ca()), "granted");
  EXPECT_EQ(try_at(where + "&tls=yes&verify=no"), "granted");
  EXPECT_THAT(try_at(where + "&tls=yes&ca=" + files.other_ca()), StartsWith("misconfigured"));
  EXPECT_THAT(try_at(where), StartsWith("misconfigured"));
}

TEST(MysqlUrl, MistakesAreNamed) {
  const auto said = [](const std::string& url) { return told(Client::open(url)); };
  EXPECT_THAT(said("mysql://root@localhost"), HasSubstr("database is missing"));
  EXPECT_THAT(said("mysql://root@localhost/db?recipe=magic"), HasSubstr("table, named or row"));
  EXPECT_THAT(said("mysql://root@localhost/db?recipe=version"), HasSubstr("versioned.h"));
  EXPECT_THAT(said("mysql://root@localhost/db?tokens=perhaps"), HasSubstr("yes or no"));
  EXPECT_THAT(said("mysql://root@localhost/db?ca=/x"), HasSubstr("tls=yes"));
  EXPECT_THAT(said("mysql://root@a,b/db?socket=/s"), HasSubstr("several hosts"));
  EXPECT_THAT(said("mysql://root@localhost/db?colour=red"), HasSubstr("unknown option"));
}

}  // namespace holdfast::mysql_tests
