// The ways in which users of MySQL 8 and 9 log in, and what is said where it fails.
#include "certificates.h"
#include "mysql_testing.h"

namespace holdfast::mysql_tests {
namespace {

class MysqlLogin : public testing::Test {
 protected:
  void SetUp() override {
    if (!on_mysql()) GTEST_SKIP() << "these ways to log in are MySQL's";
  }
  static MariadbServer& server() {
    static MariadbServer shared({.tls = true});
    return shared;
  }
  // A user with all rights in the database, made by `how`.
  static void make_user(const std::string& name, const std::string& how) {
    server().query("CREATE USER " + name + "@'%' " + how);
    server().query("GRANT ALL ON holdfast.* TO " + name + "@'%'");
  }
  static std::string log_in(const std::string& user, const std::string& options = "") {
    return try_at("mysql://" + user + ":pw@127.0.0.1:" + std::to_string(server().port()) +
                  "/holdfast?recipe=named" + options);
  }
  static std::string trusted() { return "&tls=yes&ca=" + test::Certificates::shared().ca(); }
};

// The server knows the password only by its hash until somebody has shown it: that takes an exchange of keys,
// or TLS. Afterwards a hash is enough, until the server forgets it.
TEST_F(MysqlLogin, CachingSha2WorksWithAndWithoutTlsWhetherItIsCachedOrNot) {
  make_user("sha2", "IDENTIFIED WITH caching_sha2_password BY 'pw'");
  for (const std::string& options : {std::string(), trusted()}) {
    server().query("FLUSH PRIVILEGES");  // forgets
    EXPECT_EQ(log_in("sha2", options), "granted") << "in full" << options;
    EXPECT_EQ(log_in("sha2", options), "granted") << "cached" << options;
  }
  EXPECT_EQ(
      try_at("mysql://sha2:pw@localhost/holdfast?recipe=named&socket=" + server().unix_path()),
      "granted");
}

TEST_F(MysqlLogin, AWrongPasswordIsSaidToBeOneAlsoWithTls) {
  make_user("wrong", "IDENTIFIED BY 'another'");
  for (const std::string& options : {std::string(), trusted()}) {
    EXPECT_THAT(log_in("wrong", options), StartsWith("misconfigured"));
    EXPECT_THAT(log_in("wrong", options), HasSubstr("user or password is wrong"));
  }
}

TEST_F(MysqlLogin, AUserWithoutAPasswordLogsIn) {
  make_user("bare", "IDENTIFIED BY ''");
  EXPECT_EQ(try_at("mysql://bare@127.0.0.1:" + std::to_string(server().port()) +
                   "/holdfast?recipe=named"),
            "granted");
}

TEST_F(MysqlLogin, ExpiredPasswordsAndLockedUsersAreSaidToBeSo) {
  make_user("expired", "IDENTIFIED BY 'pw' PASSWORD EXPIRE");
  make_user("locked", "IDENTIFIED BY 'pw' ACCOUNT LOCK");
  EXPECT_THAT(log_in("expired"), StartsWith("misconfigured"));
  EXPECT_THAT(log_in("expired"), HasSubstr("expired: ALTER USER"));
  EXPECT_THAT(log_in("locked"), StartsWith("misconfigured"));
  EXPECT_THAT(log_in("locked"), HasSubstr("ACCOUNT UNLOCK"));
}

TEST_F(MysqlLogin, AServerThatWantsTlsSaysSo) {
  make_user("plain", "IDENTIFIED BY 'pw'");
  make_user("with_tls", "IDENTIFIED BY 'pw' REQUIRE SSL");
  EXPECT_THAT(log_in("with_tls"), HasSubstr("tls=yes"));
  EXPECT_EQ(log_in("with_tls", trusted()), "granted");
  MariadbClient admin(server().port());
  admin.query("SET GLOBAL require_secure_transport = ON");
  const std::string said = log_in("plain");
  EXPECT_EQ(log_in("plain", trusted()), "granted");
  admin.query("SET GLOBAL require_secure_transport = OFF");
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("tls=yes"));
}

TEST_F(MysqlLogin, ACertificateThatNobodyVouchesForIsRefusedWithWhatToDo) {
  make_user("careful", "IDENTIFIED BY 'pw'");
  const std::string said =
      log_in("careful", "&tls=yes&ca=" + test::Certificates::shared().other_ca());
  EXPECT_THAT(said, StartsWith("misconfigured"));
  EXPECT_THAT(said, HasSubstr("ca=FILE"));
}

}  // namespace
}  // namespace holdfast::mysql_tests
