// The driver itself: statements, errors, deadlines, and the end of a connection.
#include <csignal>

#include "base/real_runtime.h"
#include "mysql_testing.h"
#include "wire/mariadb_connection.h"

namespace holdfast::mysql_tests {
namespace {

using internal::MariadbConnection;
using internal::MariadbSettings;
using internal::RealRuntime;
using internal::SqlOutcome;
using internal::SqlStatement;

MariadbSettings settings_of(const MariadbServer& server) {
  return {.endpoint = {.host = "127.0.0.1",
                       .port = static_cast<std::uint16_t>(server.port()),
                       .unix_path = ""},
          .user = "root",
          .password = "",
          .database = "holdfast",
          .tls = std::nullopt};
}

Deadline in(Duration span) { return Deadline::at(BootClock::now() + span); }

class MariadbDriver : public MysqlTest {
 protected:
  using Body = std::function<Task<void>(MariadbConnection&)>;

  // Runs `body` with a connection, inside a loop.
  void with(const Body& body) {
    const MariadbSettings settings = settings_of(server());
    runtime.block_on(open_and(settings, body));
  }
  Task<void> open_and(const MariadbSettings& settings, const Body& body) {
    Result<std::unique_ptr<MariadbConnection>> connection =
        co_await MariadbConnection::connect(runtime, settings, in(10s));
    EXPECT_EQ(told(connection), "granted");
    if (connection) co_await body(**connection);
  }
  static Task<SqlOutcome> run(MariadbConnection& connection, std::string text, Deadline deadline) {
    std::vector<SqlStatement> statements(1);
    statements[0].text = std::move(text);
    co_return co_await connection.run(std::move(statements), deadline);
  }

  RealRuntime runtime;
};

TEST_F(MariadbDriver, SeveralStatementsWithValuesGoInOneCall) {
  with([](MariadbConnection& it) -> Task<void> {
    std::vector<SqlStatement> all(3);
    all[0] = {"SELECT ?, ?, ?", {std::int64_t{-7}, std::string("a'\0\\\xff", 5), nullptr}};
    all[1] = {"DO 1", {}};
    all[2] = {"SELECT 1 UNION SELECT 2", {}};
    const SqlOutcome outcome = co_await it.run(std::move(all), in(10s));
    EXPECT_TRUE(outcome.ok());
    EXPECT_EQ(outcome.results.size(), 3U);
    EXPECT_EQ(outcome.results[0].number(0, 0), -7);
    EXPECT_EQ(outcome.results[0].bytes(0, 1), std::string("a'\0\\\xff", 5));
    EXPECT_TRUE(outcome.results[0].null(0, 2));
    EXPECT_TRUE(outcome.results[1].empty());
    EXPECT_EQ(outcome.results[2].rows.size(), 2U);
  });
}

TEST_F(MariadbDriver, AnErrorEndsTheStatementsAndNotTheConnection) {
  with([](MariadbConnection& it) -> Task<void> {
    const SqlOutcome outcome = co_await run(it, "SELECT 1; SELECT nothing; SELECT 3", in(10s));
    EXPECT_EQ(outcome.results.size(), 1U);
    EXPECT_TRUE(outcome.error && outcome.error->number == 1054 && !outcome.error->lost);
    const SqlOutcome next = co_await run(it, "SELECT 4", in(10s));
    EXPECT_TRUE(next.ok() && next.results[0].number(0, 0) == 4);
  });
}

TEST_F(MariadbDriver, ALargeAnswerAndALargeQuestionComeWhole) {
  with([](MariadbConnection& it) -> Task<void> {
    std::vector<SqlStatement> all(1);
    const std::string large(3'000'000, 'x');
    all[0] = {"SELECT ?", {large}};
    const SqlOutcome outcome = co_await it.run(std::move(all), in(20s));
    EXPECT_TRUE(outcome.ok() && outcome.results[0].bytes(0, 0) == large);
  });
}

TEST_F(MariadbDriver, ACallThatIsNotAnsweredInTimeEndsTheConnection) {
  with([](MariadbConnection& it) -> Task<void> {
    const SqlOutcome outcome = co_await run(it, "SELECT SLEEP(30)", in(100ms));
    EXPECT_TRUE(outcome.error && outcome.error->lost && outcome.error->may_have_run);
    EXPECT_FALSE(it.connected());
    EXPECT_TRUE(it.lost().is_set());
    const SqlOutcome next = co_await run(it, "SELECT 1", in(10s));
    EXPECT_TRUE(next.error && next.error->lost && !next.error->may_have_run);
  });
}

TEST_F(MariadbDriver, TheEndOfAnIdleConnectionIsSeenAtOnce) {
  with([](MariadbConnection& it) -> Task<void> {
    server().query("KILL " + std::to_string(it.session()));
    const Woken woken = co_await it.lost().wait(in(10s));
    EXPECT_EQ(woken, Woken::signalled);
    EXPECT_FALSE(it.connected());
  });
}

TEST_F(MariadbDriver, LeavesTheProcessItsBrokenPipes) {
  struct sigaction before{};
  sigaction(SIGPIPE, nullptr, &before);
  with([](MariadbConnection&) -> Task<void> { co_return; });
  struct sigaction after{};
  sigaction(SIGPIPE, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

}  // namespace
}  // namespace holdfast::mysql_tests
