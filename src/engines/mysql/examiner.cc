#include "engines/mysql/examiner.h"

#include <array>

#include "sql/mysql/errors.h"
#include "sql/mysql/tables.h"

namespace holdfast::internal::mysql {

namespace {

// A server that was replaced, or set otherwise, is noticed by the connections that are opened after this.
constexpr Duration kStale = std::chrono::seconds(10);

std::vector<SqlStatement> one(std::string text) {
  return std::vector<SqlStatement>(1, SqlStatement{std::move(text), {}});
}

// A statement that needs a right and changes nothing, whatever the table holds.
struct Trial {
  const char* right;
  const char* table;
  const char* text;
};

std::vector<Trial> trials_of(RecipeName recipe) {
  switch (recipe) {
    case RecipeName::table:
      return {{"SELECT", "holdfast_lock", "SELECT 1 FROM holdfast_lock LIMIT 0"},
              {"UPDATE", "holdfast_lock", "UPDATE holdfast_lock SET name = name WHERE 1 = 0"},
              {"DELETE", "holdfast_lock", "DELETE FROM holdfast_lock WHERE 1 = 0"}};
    case RecipeName::named:
      return {{"SELECT", "holdfast_tokens", "SELECT 1 FROM holdfast_tokens LIMIT 0"},
              {"UPDATE", "holdfast_tokens",
               "UPDATE holdfast_tokens SET lock_key = lock_key WHERE 1 = 0"}};
    case RecipeName::row:
      return {
          {"SELECT", "holdfast_tokens", "SELECT 1 FROM holdfast_tokens LIMIT 0"},
          {"SELECT", "holdfast_rows", "SELECT 1 FROM holdfast_rows LIMIT 0"},
          {"UPDATE", "holdfast_rows", "UPDATE holdfast_rows SET lock_key = lock_key WHERE 1 = 0"}};
  }
  return {};
}

// All recipes have records.
constexpr std::array kRecordTrials{
    Trial{"SELECT", "holdfast_record", "SELECT 1 FROM holdfast_record LIMIT 0"},
    Trial{"UPDATE", "holdfast_record", "UPDATE holdfast_record SET name = name WHERE 1 = 0"},
    Trial{"DELETE", "holdfast_record", "DELETE FROM holdfast_record WHERE 1 = 0"}};

}  // namespace

Task<Result<void>> Examiner::meet(MariadbConnection& connection, Deadline deadline) {
  if (runtime_.now() < ask_again_at_) co_return Result<void>();
  std::vector<SqlStatement> statements(1, question());
  const SqlOutcome outcome = co_await connection.run(std::move(statements), deadline);
  if (outcome.results.empty()) co_return Result<void>();  // The next request fails with the reason.
  const Facts facts =
      facts_from(outcome.results[0], settings_.recipe, settings_.connection.endpoint.display());
  // A replica grants nothing: the guarantees are those of the server that does.
  if (facts.read_only()) co_return Result<void>();
  const Result<void> learnt = known_.learn(examined(facts));
  if (learnt) ask_again_at_ = runtime_.now() + kStale;
  co_return learnt;
}

Task<void> Examiner::look_at_rights(MariadbConnection& connection, Facts& facts,
                                    Deadline deadline) {
  std::vector<Trial> trials = trials_of(settings_.recipe);
  trials.insert(trials.end(), kRecordTrials.begin(), kRecordTrials.end());
  for (const Trial& trial : trials) {
    const SqlOutcome tried = co_await connection.run(one(trial.text), deadline);
    if (tried.ok() || !refuses_user(*tried.error)) continue;  // It may, or there is no table yet.
    facts.missing_rights.push_back(std::string(trial.right) + " on " + trial.table);
  }
}

Task<Result<Examination>> Examiner::examine(Deadline deadline) {
  const Result<std::unique_ptr<MariadbConnection>> made =
      co_await MariadbConnection::connect(runtime_, settings_.connection, deadline);
  if (!made) co_return made.failure();
  MariadbConnection& connection = **made;
  const std::string where = settings_.connection.endpoint.display();
  std::vector<SqlStatement> statements(1, question());
  const SqlOutcome told = co_await connection.run(std::move(statements), deadline);
  if (!told.ok()) co_return failure_of(settings_, *told.error);
  Facts facts = facts_from(told.results.at(0), settings_.recipe, where);
  const WallTime asked = runtime_.wall();
  const SqlOutcome time = co_await connection.run(one(std::string("SELECT ") + kNowUs), deadline);
  const WallTime heard = runtime_.wall();
  co_await look_at_rights(connection, facts, deadline);
  Examination found = examined(facts);
  if (time.ok() && !time.results.at(0).empty()) {
    const Duration micros = std::chrono::microseconds(time.results[0].number(0, 0));
    found.clock = clock_difference(micros, asked, heard, std::chrono::microseconds(1));
    found.findings.push_back(clock_finding(*found.clock, true));
  }
  static_cast<void>(known_.learn(std::move(found)));
  co_return *known_.last();
}

}  // namespace holdfast::internal::mysql
