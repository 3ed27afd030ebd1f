// The driver: statements, errors, pipelines, notifications, and what ends a connection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/real_runtime.h"
#include "certificates.h"
#include "postgres_server.h"
#include "wire/postgres_connection.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using internal::PostgresConnection;
using internal::PostgresLogin;
using internal::RealRuntime;
using internal::SqlOutcome;
using internal::SqlStatement;
using Connected = std::unique_ptr<PostgresConnection>;

PostgresServer& server() {
  static PostgresServer server;
  return server;
}

class PostgresConnectionTest : public testing::Test {
 protected:
  PostgresLogin login() const {
    return {.endpoint = {.host = "127.0.0.1", .port = static_cast<std::uint16_t>(server().port())},
            .user = "postgres",
            .database = "postgres"};
  }
  Deadline soon(Duration span = 20s) const { return Deadline::at(runtime.now() + span); }

  Result<Connected> try_to_connect(const PostgresLogin& where, Duration span = 20s) {
    std::optional<Result<Connected>> made;
    const auto body = [&]() -> Task<void> {
      made = co_await PostgresConnection::connect(runtime, where, soon(span));
    };
    runtime.block_on(body());
    return std::move(*made);
  }
  Connected connect() { return try_to_connect(login()).value(); }

  SqlOutcome run(PostgresConnection& connection, std::vector<SqlStatement> statements,
                 Duration span = 20s, std::stop_token stop = {}) {
    std::optional<SqlOutcome> outcome;
    const auto body = [&]() -> Task<void> {
      outcome = co_await connection.run(std::move(statements), soon(span), stop);
    };
    runtime.block_on(body());
    return std::move(*outcome);
  }
  SqlOutcome run(PostgresConnection& connection, const std::string& text) {
    return run(connection, {SqlStatement{text, {}}});
  }
  // Runs the loop until it is gone.
  bool goes(PostgresConnection& connection) {
    bool gone = false;
    const auto body = [&]() -> Task<void> {
      gone = co_await connection.lost().wait(soon()) == Woken::signalled;
    };
    runtime.block_on(body());
    return gone;
  }

  RealRuntime runtime;
};

TEST_F(PostgresConnectionTest, ValuesComeBackAsTheyWent) {
  const Connected connection = connect();
  using namespace std::string_literals;  // NOLINT(google-build-using-namespace)
  const std::string bytes = "\0\x01\xff'\\"s;
  for (int round = 0; round < 2; ++round) {  // prepared, and the second time known
    const SqlOutcome outcome =
        run(*connection, {{"SELECT $1::bytea, $2::bigint, $3::text, $4::bytea",
                           {bytes, std::int64_t{-9'000'000'000'000'000'000}, "é"s, nullptr}}});
    ASSERT_TRUE(outcome.ok()) << outcome.error->message;
    ASSERT_EQ(outcome.results.size(), 1U);
    EXPECT_EQ(outcome.results[0].bytes(0, 0), bytes);
    EXPECT_EQ(outcome.results[0].number(0, 1), -9'000'000'000'000'000'000);
    EXPECT_EQ(outcome.results[0].bytes(0, 2), "é");
    EXPECT_TRUE(outcome.results[0].null(0, 3));
  }
}

TEST_F(PostgresConnectionTest, WhatIsSentTogetherIsOneTransaction) {
  const Connected connection = connect();
  ASSERT_TRUE(run(*connection, "CREATE TABLE together(x int)").ok());
  SqlOutcome outcome = run(*connection, {{"INSERT INTO together VALUES(1)", {}},
                                         {"SELECT 1/0", {}},
                                         {"INSERT INTO together VALUES(2)", {}}});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error->state, "22012");
  EXPECT_FALSE(outcome.error->lost);
  EXPECT_EQ(outcome.results.size(), 1U);
  EXPECT_EQ(run(*connection, "SELECT count(*) FROM together").results.at(0).number(0, 0), 0);
  // A statement that was to be prepared behind the error is prepared when it is sent again.
  outcome = run(*connection,
                {{"INSERT INTO together VALUES(1)", {}}, {"INSERT INTO together VALUES(2)", {}}});
  ASSERT_TRUE(outcome.ok()) << outcome.error->message;
  EXPECT_EQ(outcome.results.at(1).affected, 1U);
  EXPECT_EQ(run(*connection, "SELECT count(*) FROM together").results.at(0).number(0, 0), 2);
}

// All statements are answered well, and then the server cannot commit them.
TEST_F(PostgresConnectionTest, WhatCannotBeCommittedWasNotDone) {
  const Connected connection = connect();
  ASSERT_TRUE(
      run(*connection, "CREATE TABLE late(x int UNIQUE DEFERRABLE INITIALLY DEFERRED)").ok());
  ASSERT_TRUE(run(*connection, "INSERT INTO late VALUES(1)").ok());
  const SqlOutcome outcome = run(*connection, "INSERT INTO late VALUES(1)");
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error->state, "23505");
  EXPECT_FALSE(outcome.error->lost);
  EXPECT_TRUE(outcome.results.empty());
  EXPECT_EQ(run(*connection, "SELECT count(*) FROM late").results.at(0).number(0, 0), 1);
}

TEST_F(PostgresConnectionTest, ATransactionCanTakeSeveralCalls) {
  const Connected connection = connect();
  ASSERT_TRUE(run(*connection, "CREATE TABLE several(x int)").ok());
  ASSERT_TRUE(run(*connection, {{"BEGIN", {}}, {"INSERT INTO several VALUES(1)", {}}}).ok());
  EXPECT_EQ(server().query("SELECT count(*) FROM several"), "0");
  ASSERT_TRUE(run(*connection, {{"INSERT INTO several VALUES(2)", {}}, {"COMMIT", {}}}).ok());
  EXPECT_EQ(server().query("SELECT count(*) FROM several"), "2");
}

TEST_F(PostgresConnectionTest, ALargeAnswerAndALargeQuestionArriveWhole) {
  const Connected connection = connect();
  const std::string large(5'000'000, 'x');
  const SqlOutcome outcome = run(*connection, {{"SELECT $1::bytea", {large}}});
  ASSERT_TRUE(outcome.ok()) << outcome.error->message;
  EXPECT_EQ(outcome.results[0].bytes(0, 0), large);
}

TEST_F(PostgresConnectionTest, NotificationsAreHeardWhileIdleAndWhileBusy) {
  const Connected connection = connect();
  std::vector<std::string> heard;
  Event came(runtime);
  connection->hear_notifications([&](std::string_view channel, std::string_view payload) {
    heard.push_back(std::string(channel) + "=" + std::string(payload));
    came.set();
  });
  ASSERT_TRUE(run(*connection, "LISTEN news").ok());
  server().query("NOTIFY news, 'idle'");
  const auto body = [&]() -> Task<void> { static_cast<void>(co_await came.wait(soon())); };
  runtime.block_on(body());
  ASSERT_TRUE(run(*connection, "NOTIFY news, 'own'").ok());
  EXPECT_THAT(heard, testing::ElementsAre("news=idle", "news=own"));
}

TEST_F(PostgresConnectionTest, ACallThatTimesOutClosesTheConnection) {
  const Connected connection = connect();
  const SqlOutcome outcome = run(*connection, {{"SELECT pg_sleep(20)", {}}}, 100ms);
  ASSERT_FALSE(outcome.ok());
  EXPECT_TRUE(outcome.error->lost);
  EXPECT_TRUE(outcome.error->may_have_run);
  EXPECT_FALSE(connection->connected());
  const SqlOutcome later = run(*connection, "SELECT 1");
  ASSERT_FALSE(later.ok());
  EXPECT_FALSE(later.error->may_have_run);
}

TEST_F(PostgresConnectionTest, ACallCanBeCancelled) {
  const Connected connection = connect();
  std::stop_source stop;
  std::thread canceller([&] {
    std::this_thread::sleep_for(50ms);
    stop.request_stop();
  });
  const SqlOutcome outcome = run(*connection, {{"SELECT pg_sleep(20)", {}}}, 20s, stop.get_token());
  canceller.join();
  ASSERT_FALSE(outcome.ok());
  EXPECT_TRUE(outcome.error->cancelled);
}

TEST_F(PostgresConnectionTest, ASessionThatIsKilledIsNoticedWhileIdle) {
  const Connected connection = connect();
  server().query("SELECT pg_terminate_backend(" + std::to_string(connection->backend_pid()) + ")");
  EXPECT_TRUE(goes(*connection));
  EXPECT_FALSE(connection->connected());
  EXPECT_THAT(connection->why_lost(), testing::HasSubstr("terminating connection"));
}

TEST_F(PostgresConnectionTest, ASessionThatIsKilledIsNoticedWhileBusy) {
  const Connected connection = connect();
  std::thread killer([&] {
    std::this_thread::sleep_for(100ms);
    server().query("SELECT pg_terminate_backend(" + std::to_string(connection->backend_pid()) +
                   ")");
  });
  const SqlOutcome outcome = run(*connection, "SELECT pg_sleep(20)");
  killer.join();
  ASSERT_FALSE(outcome.ok());
  EXPECT_TRUE(outcome.error->lost);
  EXPECT_EQ(outcome.error->state, "57P01") << outcome.error->message;
}

TEST_F(PostgresConnectionTest, ANameIsLookedUp) {
  PostgresLogin where = login();
  where.endpoint.host = "localhost";
  const Result<Connected> made = try_to_connect(where);
  EXPECT_TRUE(made) << made.message();
  where.endpoint.host = "nowhere.invalid";
  EXPECT_EQ(try_to_connect(where).code(), Code::unreachable);
}

TEST_F(PostgresConnectionTest, AUnixSocketServesAsWell) {
  PostgresLogin where = login();
  where.endpoint.unix_path = server().directory().string();
  const Result<Connected> made = try_to_connect(where);
  EXPECT_TRUE(made) << made.message();
}

TEST_F(PostgresConnectionTest, WhoCannotComeInLearnsWhy) {
  PostgresLogin where = login();
  where.endpoint.port = static_cast<std::uint16_t>(free_port());
  EXPECT_EQ(try_to_connect(where).code(), Code::unreachable);
  where = login();
  where.database = "nothing";
  const Result<Connected> no_database = try_to_connect(where);
  EXPECT_EQ(no_database.code(), Code::misconfigured);
  EXPECT_THAT(no_database.message(), testing::HasSubstr("\"nothing\" does not exist"));
}

TEST_F(PostgresConnectionTest, TlsVerifiesTheServer) {
  PostgresServer secure({.tls = true, .password = "sesame"});
  PostgresLogin where{
      .endpoint = {.host = "127.0.0.1", .port = static_cast<std::uint16_t>(secure.port())},
      .user = "postgres",
      .password = "sesame",
      .database = "postgres",
      .tls = "verify-full",
      .ca_file = Certificates::shared().ca()};
  const Result<Connected> made = try_to_connect(where);
  ASSERT_TRUE(made) << made.message();
  EXPECT_EQ(run(**made, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
                .results.at(0)
                .bytes(0, 0),
            "t");
  where.ca_file = Certificates::shared().other_ca();
  const Result<Connected> refused = try_to_connect(where);
  EXPECT_EQ(refused.code(), Code::misconfigured) << refused.message();
  where.ca_file = Certificates::shared().ca();
  where.password = "wrong";
  const Result<Connected> wrong = try_to_connect(where);
  EXPECT_EQ(wrong.code(), Code::misconfigured) << wrong.message();
  EXPECT_THAT(wrong.message(), testing::Not(testing::HasSubstr("wrong")));
}

TEST_F(PostgresConnectionTest, AForkedChildDoesNotEndTheParentsSession) {
  Connected connection = connect();
  const pid_t child = fork();
  if (child == 0) {
    connection.reset();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(run(*connection, "SELECT 1").ok());
}

}  // namespace
}  // namespace holdfast::test
