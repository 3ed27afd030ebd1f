// The suite runs as the least-privileged user of each engine. These tests say that this user is one,
// that an administrator can do the same, and that a user who may create the tables needs nobody.
#include "rights.h"
#include "contract.h"
#include "mariadb_server.h"
#include "postgres_server.h"
#include "records.h"

namespace holdfast::contract {
namespace {

class RightsTest : public ContractTest {
 protected:
  // One of each call: a free lock, a wait that is handed over, a look, a list.
  static void use(Client& client) {
    Result<Lease> lease = client.mutex("x").acquire();
    ASSERT_EQ(outcome_of(lease), "granted") << why(lease);
    Pending waiter = in_thread([&] { return client.mutex("x").acquire(); });
    EXPECT_EQ(holders(client, "x"), 1u);
    EXPECT_EQ(client.list().value().size(), 1u);
    lease.value().release().value();
    ASSERT_TRUE(arrives(waiter));
    Result<Lease> second = waiter.get();
    EXPECT_EQ(outcome_of(second), "granted") << why(second);
  }
  // One of each call about records.
  static void use(Records& records) {
    EXPECT_EQ(said(records.read("x")), "none");
    EXPECT_EQ(said(records.swap("x", std::nullopt, "1")), "true");
    EXPECT_EQ(said(records.swap("x", "1", "2")), "true");
    EXPECT_EQ(records.list().value().size(), 1U);
    EXPECT_EQ(said(records.swap("x", "2", std::nullopt)), "true");
    EXPECT_TRUE(records.time().ok());
  }
};
HOLDFAST_ON_EVERY_ENGINE(RightsTest);

TEST_P(RightsTest, AnAdministratorCanDoTheSame) {
  if (admin_url().empty()) GTEST_SKIP() << "this engine has no users";
  Client client = Client::open(admin_url()).value();
  use(client);
  if (!engine().records) return;
  Records records(admin_url());
  use(records);
}

TEST_P(RightsTest, TheLeastOfUsersIsRefusedOutsideItsPlace) {
  if (outside_url().empty()) GTEST_SKIP() << "its rights do not depend on the place";
  Result<Client> client = Client::open(outside_url());
  const std::string outcome =
      client ? outcome_of(client.value().mutex("x").try_acquire_for(5s)) : outcome_of(client);
  EXPECT_EQ(outcome, "misconfigured");
}

// The other recipes' rights are in the same pages: each user gets what its recipe needs.
class CreatingUserTest : public testing::Test {
 protected:
  static void acquires_on(const std::string& url) {
    Client client = Client::open(url).value();
    Result<Lease> lease = client.mutex("x").try_acquire_for(kPatience);
    EXPECT_EQ(outcome_of(lease), "granted") << url << ": " << why(lease);
  }
};

TEST_F(CreatingUserTest, MakesTheTablesOfEveryMysqlRecipe) {
  test::MariadbServer server;
  grant_rights(server, "create");
  const std::string url =
      "mysql://app:PASSWORD@127.0.0.1:" + std::to_string(server.port()) + "/app?recipe=";
  for (const char* recipe : {"table", "named", "row"}) acquires_on(url + recipe);
}

TEST_F(CreatingUserTest, MakesTheTablesOfEveryPostgresRecipe) {
  test::PostgresServer server;
  grant_rights(server, "create");
  const std::string url = with_option(as_app(server.url()), "schema=app&recipe=");
  for (const char* recipe : {"table", "advisory", "row"}) acquires_on(url + recipe);
}

}  // namespace
}  // namespace holdfast::contract
