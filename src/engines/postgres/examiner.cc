#include "engines/postgres/examiner.h"

#include <cstdlib>

#include "sql/postgres/schema.h"
#include "sql/postgres/session.h"
#include "sql/postgres/tables.h"

namespace holdfast::internal::postgres {

namespace {

// A server that was replaced, or set otherwise, is noticed by the connections that are opened after this.
constexpr Duration kStale = std::chrono::seconds(10);

constexpr const char* kBackend = "SELECT pg_backend_pid()";

// 0 if there is no answer.
std::int64_t number_in(const SqlOutcome& outcome, std::size_t result = 0) {
  if (outcome.results.size() <= result || outcome.results[result].empty()) return 0;
  return outcome.results[result].number(0, 0);
}

std::vector<SqlStatement> one(const char* text) {
  return std::vector<SqlStatement>(1, SqlStatement{text, {}, true});
}

// The tables that are there without one of their rights, and those that are missing and cannot be made.
std::string rights_question(const std::string& recipe) {
  std::string tables;
  for (const std::string& table : tables_of(recipe)) {
    tables += (tables.empty() ? "'" : ", '") + table + "'";
  }
  const std::string deleted =
      recipe == "table" ? "" : "(p <> 'DELETE' OR t = 'holdfast_record') AND ";
  return "SELECT p || ' on ' || t FROM unnest(ARRAY[" + tables +
         "]) t, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p WHERE " + deleted +
         "to_regclass(t) IS NOT NULL AND NOT has_table_privilege(to_regclass(t), p)"
         " UNION ALL SELECT 'CREATE on the schema, for ' || t FROM unnest(ARRAY[" +
         tables +
         "]) t WHERE to_regclass(t) IS NULL AND NOT coalesce(has_schema_privilege("
         "current_schema(), 'CREATE'), false)";
}

}  // namespace

Task<Result<void>> Examiner::meet(PostgresConnection& connection, Deadline deadline) {
  if (runtime_.now() < ask_again_at_) co_return Result<void>();
  const SqlOutcome outcome = co_await connection.run(questions(), deadline);
  // An answer that ends at what the server did not understand tells its product; a broken connection tells nothing.
  if (outcome.results.empty()) co_return Result<void>();
  Facts facts = facts_from(outcome.results, settings_.recipe, settings_.login.endpoint.display());
  facts.pooled = settings_.pooled;
  // A standby grants nothing: the guarantees are those of the server that does.
  if (facts.in_recovery) co_return Result<void>();
  const Result<void> learnt = known_.learn(examined(facts));
  if (learnt) ask_again_at_ = runtime_.now() + kStale;
  // Without the server's name, which connect() adds.
  if (!learnt) co_return Failure(learnt.code(), sentence_of(*why_unfit(*known_.last())));
  co_return learnt;
}

Task<Result<void>> Examiner::look_at_rights(PostgresConnection& connection, Facts& facts,
                                            Deadline deadline) {
  std::vector<SqlStatement> statements = use_schema(settings_, connection.backend_pid());
  const std::size_t answer = statements.size();
  statements.push_back({rights_question(settings_.recipe), {}, true});
  const SqlOutcome outcome = co_await connection.run(std::move(statements), deadline);
  if (!outcome.ok()) co_return Failure(Code::unreachable, outcome.error->message);
  const SqlRows& rows = outcome.results.at(answer);
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    facts.missing_rights.push_back(rows.bytes(i, 0));
  }
  co_return Result<void>();
}

// While another connection is in a transaction, a proxy that pools them has to give us another server process than
// before, or lets us wait.
Task<void> Examiner::look_for_pool(PostgresConnection& connection, Facts& facts,
                                   Deadline deadline) {
  constexpr int kTries = 3;
  constexpr Duration kPatience = std::chrono::milliseconds(500);
  const SqlOutcome first = co_await connection.run(one(kBackend), deadline);
  std::int64_t mine = number_in(first);
  facts.behind_proxy = mine != 0 && mine != connection.backend_pid();
  if (!facts.behind_proxy) co_return;
  const Result<std::unique_ptr<PostgresConnection>> other =
      co_await PostgresConnection::connect(runtime_, settings_.login, deadline);
  if (!other) co_return;
  for (int i = 0; i < kTries && !facts.pools_transactions; ++i) {
    std::vector<SqlStatement> begin = one("BEGIN");
    begin.push_back({kBackend, {}, true});
    const SqlOutcome busy = co_await (*other)->run(std::move(begin), deadline);
    const Deadline soon = deadline.sooner(runtime_.now() + kPatience);
    const SqlOutcome now = co_await connection.run(one(kBackend), soon);
    facts.pools_transactions = !now.ok() || number_in(now) != mine || number_in(busy, 1) == mine;
    const SqlOutcome ended = co_await (*other)->run(one("ROLLBACK"), deadline);
    if (!now.ok() || !ended.ok()) co_return;
    mine = number_in(now);
  }
}

Task<Result<Examination>> Examiner::examine(Deadline deadline) {
  const Result<std::unique_ptr<PostgresConnection>> made =
      co_await connect(runtime_, settings_, deadline);
  if (!made) co_return made.failure();
  const std::string where = settings_.login.endpoint.display();
  PostgresConnection& connection = **made;
  const SqlOutcome told = co_await connection.run(questions(), deadline);
  if (told.results.empty()) co_return Failure(Code::unreachable, told.error->message);
  Facts facts = facts_from(told.results, settings_.recipe, where);
  facts.pooled = settings_.pooled;
  std::optional<ClockDifference> clock;
  if (told.ok()) {
    const WallTime asked = runtime_.wall();
    const SqlOutcome time =
        co_await connection.run(one((std::string("SELECT ") + kNowUs).c_str()), deadline);
    if (const std::int64_t micros = number_in(time); micros != 0) {
      clock = clock_difference(std::chrono::microseconds(micros), asked, runtime_.wall(),
                               std::chrono::microseconds(1));
    }
    static_cast<void>(co_await look_at_rights(connection, facts, deadline));
    co_await look_for_pool(connection, facts, deadline);
  }
  Examination found = examined(facts);
  found.clock = clock;
  if (clock) found.findings.push_back(clock_finding(*clock, true));
  static_cast<void>(known_.learn(std::move(found)));
  co_return *known_.last();
}

}  // namespace holdfast::internal::postgres
