// The observer hears what becomes of the servers, in order, in a bounded number of events, and without secrets.
#include "server_events.h"

#include <algorithm>

#include "behind.h"
#include "mariadb_server.h"
#include "postgres_server.h"
#include "rights.h"
#include "sqlite_testing.h"

namespace holdfast::contract {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ServerEventsTest : public ContractTest {};
HOLDFAST_ON_EVERY_ENGINE(ServerEventsTest);

TEST_P(ServerEventsTest, AServerIsConnectedToOnceHoweverManyCallsThereAre) {
  const auto events = std::make_shared<ServerEvents>();
  {
    Client client = open({.observer = events});
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < 3; ++round) {
          EXPECT_TRUE(client.mutex("x").acquire());
          EXPECT_TRUE(client.mutex("mine" + std::to_string(i)).acquire());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  // Also the end of the client tells nothing.
  EXPECT_EQ(broken_promise(*events), "");
  EXPECT_EQ(events->by_server().empty(), engine().name == "memory");
  for (const auto& [server, kinds] : events->by_server()) {
    EXPECT_THAT(kinds, ElementsAre("connected")) << server;
  }
}

TEST_P(ServerEventsTest, ARefusalIsHeardOfWithItsReason) {
  if (outside_url().empty()) GTEST_SKIP() << "its rights do not depend on the place";
  const auto events = std::make_shared<ServerEvents>();
  Result<Client> client = Client::open(outside_url(), {.observer = events});
  for (int round = 0; client && round < 20; ++round) {
    EXPECT_FALSE(client->mutex("x").try_acquire());
  }
  EXPECT_EQ(broken_promise(*events), "");
  const std::size_t servers = events->by_server().size();
  EXPECT_GE(events->count(ServerEventKind::error), 1u) << events->text();
  EXPECT_LE(events->count(ServerEventKind::error), 10 * servers) << events->text();
}

TEST_P(ServerEventsTest, AWrongPasswordIsHeardOfAndIsNotInTheReason) {
  if (admin_url().empty()) GTEST_SKIP() << "this engine has no users";
  if (engine().name.starts_with("postgres")) GTEST_SKIP() << "this server asks for no password";
  const std::string secret = "OpenSesame17";
  std::string wrong = url();
  for (std::size_t at = 0; (at = wrong.find("PASSWORD", at)) != std::string::npos;) {
    wrong.replace(at, 8, secret);
  }
  ASSERT_THAT(wrong, HasSubstr(secret));
  const auto events = std::make_shared<ServerEvents>();
  Result<Client> client = Client::open(wrong, {.observer = events});
  if (client) {
    EXPECT_FALSE(client->mutex("x").try_acquire());
  }
  EXPECT_EQ(broken_promise(*events), "");
  const std::size_t told =
      events->count(ServerEventKind::error) + events->count(ServerEventKind::connect_failed);
  EXPECT_GE(told, 1u) << events->text();
  EXPECT_THAT(events->text(), Not(HasSubstr(secret)));
}

// ---- Servers that go and come ------------------------------------------------------------------

using Kinds = std::vector<std::string>;

// Acquires again and again until `condition` holds of the events. False if it does not in time.
bool use_until(Client& client, const std::function<bool()>& condition) {
  return eventually([&] {
    static_cast<void>(client.mutex("x").try_acquire());
    return condition();
  });
}

std::string expect_of_each(Behind& behind, const ServerEvents& events, const Kinds& expected) {
  std::string wrong = broken_promise(events);
  std::size_t servers = 0;
  for (const auto& [server, kinds] : events.by_server()) {
    ++servers;
    Kinds seen = kinds;
    // As often as it is news, in between.
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    if (seen != expected) wrong += "of " + server + ":\n" + events.text();
  }
  std::size_t proxies = 0;
  behind.each([&](test::Proxy&) { ++proxies; });
  if (servers != proxies) wrong += std::to_string(servers) + " servers\n" + events.text();
  return wrong;
}

std::size_t proxies_of(Behind& behind) {
  std::size_t count = 0;
  behind.each([&](test::Proxy&) { ++count; });
  return count;
}

std::string cut_and_used_again(Behind& behind) {
  const auto events = std::make_shared<ServerEvents>();
  Client client = open_hasty(behind.url(), {.observer = events});
  const std::size_t servers = proxies_of(behind);
  const auto all = [&](ServerEventKind kind) {
    return [&events, servers, kind] { return events->count(kind) == servers; };
  };
  if (!use_until(client, all(ServerEventKind::connected))) return "no connect\n" + events->text();
  behind.each([](test::Proxy& proxy) { proxy.reset(); });
  if (!eventually(all(ServerEventKind::disconnected))) return "no cut\n" + events->text();
  if (!use_until(client, all(ServerEventKind::reconnected))) return "no more\n" + events->text();
  return expect_of_each(behind, *events, {"connected", "disconnected", "reconnected"});
}

TEST(ServersThatFail, AConnectionThatIsCutIsHeardOfAndThatItWorksAgain) {
  EXPECT_THAT(on_all_behind(cut_and_used_again), IsEmpty());
}

std::string down_for_a_while(Behind& behind) {
  constexpr Duration kDown = 4s;
  constexpr std::size_t kBound = 10 + kDown / 1s;
  const auto events = std::make_shared<ServerEvents>();
  Client client = open_hasty(behind.url(), {.observer = events});
  const std::size_t servers = proxies_of(behind);
  const auto all = [&](ServerEventKind kind) {
    return [&events, servers, kind] { return events->count(kind) >= servers; };
  };
  if (!use_until(client, all(ServerEventKind::connected))) return "no connect\n" + events->text();
  behind.each([](test::Proxy& proxy) {
    proxy.refuse(true);
    proxy.reset();
  });
  const BootTime end = BootClock::now() + kDown;
  while (BootClock::now() < end) static_cast<void>(client.mutex("x").try_acquire());
  if (!use_until(client, all(ServerEventKind::connect_failed))) {
    return "no failure\n" + events->text();
  }
  if (events->count(ServerEventKind::connect_failed) > servers * kBound) {
    return "too many\n" + events->text();
  }
  behind.each([](test::Proxy& proxy) { proxy.refuse(false); });
  if (!use_until(client, all(ServerEventKind::reconnected))) return "no more\n" + events->text();
  return expect_of_each(behind, *events,
                        {"connected", "disconnected", "connect_failed", "reconnected"});
}

TEST(ServersThatFail, AServerThatIsDownIsToldAboutAFewTimesOnly) {
  EXPECT_THAT(on_all_behind(down_for_a_while), IsEmpty());
}

// A connection that the server holds open and does not answer on is given up, and told about.
std::string silent_and_given_up(Behind& behind) {
  const auto events = std::make_shared<ServerEvents>();
  Client client = open_hasty(behind.url(), {.request_timeout = 1s, .observer = events});
  const std::size_t servers = proxies_of(behind);
  const auto some = [&](ServerEventKind kind) {
    return [&events, kind] { return events->count(kind) >= 1; };
  };
  if (!use_until(client, [&] { return events->count(ServerEventKind::connected) == servers; })) {
    return "no connect\n" + events->text();
  }
  behind.each([](test::Proxy& proxy) { proxy.cut(); });
  if (!use_until(client, some(ServerEventKind::disconnected))) return "no end\n" + events->text();
  if (!use_until(client, some(ServerEventKind::reconnected))) return "no more\n" + events->text();
  return broken_promise(*events);
}

TEST(ServersThatFail, ASilentServerIsGivenUpAndToldAbout) {
  EXPECT_THAT(on_all_behind(silent_and_given_up), IsEmpty());
}

TEST(ServersThatFail, AWrongPasswordForPostgresIsHeardOfAndIsNotInTheReason) {
  const test::PostgresServer server({.password = "ROOTS"});
  const auto events = std::make_shared<ServerEvents>();
  Result<Client> client =
      Client::open(server.url("postgres", "OpenSesame17"), {.observer = events});
  if (client) {
    EXPECT_FALSE(client->mutex("x").try_acquire());
  }
  EXPECT_EQ(broken_promise(*events), "");
  EXPECT_GE(events->count(ServerEventKind::connect_failed), 1u) << events->text();
  EXPECT_THAT(events->text(), HasSubstr("password authentication failed"));
  EXPECT_THAT(events->text(), Not(HasSubstr("OpenSesame17")));
}

// ---- Databases whose rights were taken away ----------------------------------------------------

void expect_error_with(const std::string& url, const std::function<void()>& take_rights_away,
                       const std::string& reason) {
  const auto events = std::make_shared<ServerEvents>();
  Client client = Client::open(url, {.observer = events}).value();
  ASSERT_TRUE(client.mutex("x").try_acquire_for(kPatience));
  take_rights_away();
  for (int round = 0; round < 20; ++round) EXPECT_FALSE(client.mutex("x").try_acquire());
  EXPECT_EQ(broken_promise(*events), "");
  EXPECT_GE(events->count(ServerEventKind::error), 1u) << events->text();
  EXPECT_LE(events->count(ServerEventKind::error), 10u) << events->text();
  EXPECT_THAT(events->text(), HasSubstr(reason));
  EXPECT_EQ(events->by_server().size(), 1u) << events->text();
}

TEST(ServersThatFail, APostgresThatRefusesTheUserIsToldAbout) {
  test::PostgresServer server;
  grant_rights(server, "table");
  expect_error_with(
      as_app(server.url()),
      [&] { server.query("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM app"); },
      "permission denied");
}

TEST(ServersThatFail, AMysqlThatRefusesTheUserIsToldAbout) {
  test::MariadbServer server;
  grant_rights(server, "table");
  const std::string port = std::to_string(server.port());
  expect_error_with(
      "mysql://app:PASSWORD@127.0.0.1:" + port + "/app",
      [&] { server.query("REVOKE SELECT, INSERT, UPDATE, DELETE ON app.holdfast_lock FROM app"); },
      "command denied");
}

// ---- Files -------------------------------------------------------------------------------------

class SqliteServerEvents : public SqliteTest {};

TEST_F(SqliteServerEvents, AFileThatWasReplacedIsAServerThatIsGone) {
  const auto events = std::make_shared<ServerEvents>();
  Client client = Client::open(url(), {.observer = events}).value();
  ASSERT_TRUE(client.mutex("x").try_acquire());
  std::filesystem::remove(file());
  ASSERT_TRUE(use_until(client, [&] { return events->count(ServerEventKind::disconnected) > 0; }));
  EXPECT_EQ(broken_promise(*events), "");
  EXPECT_THAT(events->by_server()[file().string()], ElementsAre("connected", "disconnected"));
  EXPECT_THAT(events->text(), HasSubstr("was removed or replaced"));
}

TEST_F(SqliteServerEvents, AFileThatCannotBeOpenedIsToldAbout) {
  const auto events = std::make_shared<ServerEvents>();
  std::filesystem::create_directory(file());
  const Result<Client> client = Client::open(url(), {.observer = events});
  EXPECT_FALSE(client);
  EXPECT_EQ(broken_promise(*events), "");
  EXPECT_THAT(events->by_server()[file().string()], ElementsAre("connect_failed"));
}

}  // namespace
}  // namespace holdfast::contract
