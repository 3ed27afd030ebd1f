// How the recipes that live in a session show their locks.
#include <algorithm>
#include <map>

#include "engines/postgres/session_recipe.h"
#include "engines/session/mark.h"

namespace holdfast::internal::postgres {

namespace {

using session::Batch;
using session::Key;
using session::microseconds;

// Of holders().
constexpr const char* kHolderColumns =
    "h.lock_key, h.claim, h.mode, h.token, h.label,"
    " (extract(epoch FROM clock_timestamp() - h.since) * 1000000)::bigint, h.ttl_us,"
    " (extract(epoch FROM clock_timestamp() - h.state_change) * 1000000)::bigint FROM ";

enum HolderColumn { kKey, kClaim, kMode, kToken, kLabel, kSinceUs, kTtlUs, kIdleUs };
constexpr const char* kHolderKinds = "BbNNbnnn";

// $1: marked().
constexpr const char* kWaiters =
    " FROM pg_stat_activity WHERE state = 'active' AND datname = current_database()"
    " AND query LIKE $1::text";
constexpr const char* kWaiterColumns =
    "SELECT query, (extract(epoch FROM clock_timestamp() - query_start) * 1000000)::bigint";

void add_holder(LockInfo& info, const SqlRows& rows, std::size_t row) {
  const Duration left =
      microseconds(rows.number(row, kTtlUs)) - microseconds(rows.number(row, kIdleUs));
  info.holders.push_back({.id = claim_from_bytes(rows.bytes(row, kClaim)),
                          .mode = rows.number(row, kMode) == 1 ? Mode::shared : Mode::exclusive,
                          .token = Token(static_cast<std::uint64_t>(rows.number(row, kToken))),
                          .label = rows.bytes(row, kLabel),
                          .held_for = microseconds(rows.number(row, kSinceUs)),
                          .expires_in = std::max<Duration>(left, Duration(1))});
}

void add_waiter(LockInfo& info, session::Marked marked, const SqlRows& rows, std::size_t row) {
  marked.waiter.waited_for = microseconds(rows.number(row, 1));
  info.waiters.push_back(std::move(marked.waiter));
}

SqlStatement waiters(const std::string& marked) {
  SqlStatement statement;
  statement.text = std::string(kWaiterColumns) + kWaiters + " ORDER BY query_start, pid";
  statement.values = {marked};
  statement.answer = rows_of("bn");
  return statement;
}

}  // namespace

std::string SessionRecipe::holders() const {
  return "(SELECT t.lock_key, t.claim, 0 AS mode, t.token, t.label, t.since, t.ttl_us, a.pid,"
         " a.state_change FROM holdfast_token t"
         " JOIN pg_stat_activity a ON a.application_name = t.session"
         " JOIN pg_locks l ON l.pid = a.pid AND l.granted AND l.mode = 'ExclusiveLock' AND " +
         lock_of("t") + shared_holders() + ") h";
}

Batch SessionRecipe::look(const Key& key) const {
  Batch batch(3);
  batch[0] = {"SELECT token FROM holdfast_token WHERE lock_key = $1::bytea", {key.hash}};
  batch[0].answer = row_if_any("N");
  batch[1] = {std::string("SELECT ") + kHolderColumns + holders() +
                  " WHERE h.lock_key = $1::bytea ORDER BY h.token",
              {key.hash}};
  batch[1].answer = rows_of(kHolderKinds);
  batch[2] = waiters(session::marked(key));
  return batch;
}

LockInfo SessionRecipe::seen(const Name& name, const SqlOutcome& outcome) const {
  LockInfo info{.name = name};
  const SqlRows& token = outcome.results.at(0);
  if (!token.empty()) info.last_token = Token(static_cast<std::uint64_t>(token.number(0, 0)));
  const SqlRows& holding = outcome.results.at(1);
  for (std::size_t i = 0; i < holding.rows.size(); ++i) add_holder(info, holding, i);
  const SqlRows& waiting = outcome.results.at(2);
  for (std::size_t i = 0; i < waiting.rows.size(); ++i) {
    if (auto marked = session::read_mark(waiting.bytes(i, 0))) {
      add_waiter(info, std::move(*marked), waiting, i);
    }
  }
  return info;
}

Batch SessionRecipe::look_at_all(const std::string& prefix) const {
  Batch batch(3);
  batch[0] = {std::string("SELECT ") + kHolderColumns + holders() + " ORDER BY h.token", {}};
  batch[0].answer = rows_of(kHolderKinds);
  batch[1] = waiters(session::marked());
  batch[2] = {
      "SELECT t.lock_key, t.name, t.token FROM holdfast_token t"
      " WHERE (t.lock_key IN (SELECT h.lock_key FROM " +
          holders() +
          ") OR encode(t.lock_key, 'hex') IN (SELECT substr(query, $2::integer, "
          "$3::integer)" +
          kWaiters + ")) AND substring(t.name FROM 1 FOR $4::integer) = $5::bytea",
      {session::marked(), static_cast<std::int64_t>(session::kMarkBegin.size() + 1),
       static_cast<std::int64_t>(session::kMarkKeyDigits),
       static_cast<std::int64_t>(settings_.prefix.size() + prefix.size()),
       settings_.prefix + prefix}};
  batch[2].answer = rows_of("BBN");
  return batch;
}

std::vector<LockInfo> SessionRecipe::all_seen(const SqlOutcome& outcome) const {
  const SqlRows& holding = outcome.results.at(0);
  const SqlRows& waiting = outcome.results.at(1);
  const SqlRows& names = outcome.results.at(2);
  std::map<std::string, LockInfo> locks;  // by key
  for (std::size_t i = 0; i < names.rows.size(); ++i) {
    const std::string name = names.bytes(i, 1);
    // The other recipe's rows stand in the same table.
    if (names.bytes(i, 0) != hash_of(name) || name.size() <= settings_.prefix.size()) continue;
    LockInfo info{.name = Name(name.substr(settings_.prefix.size()))};
    info.last_token = Token(static_cast<std::uint64_t>(names.number(i, 2)));
    locks.emplace(names.bytes(i, 0), std::move(info));
  }
  for (std::size_t i = 0; i < holding.rows.size(); ++i) {
    const auto lock = locks.find(holding.bytes(i, kKey));
    if (lock != locks.end()) add_holder(lock->second, holding, i);
  }
  for (std::size_t i = 0; i < waiting.rows.size(); ++i) {
    auto marked = session::read_mark(waiting.bytes(i, 0));
    const auto lock = marked ? locks.find(marked->key_hash) : locks.end();
    if (lock != locks.end()) add_waiter(lock->second, std::move(*marked), waiting, i);
  }
  std::vector<LockInfo> all;
  for (auto& [key, info] : locks) {
    if (!info.holders.empty() || !info.waiters.empty()) all.push_back(std::move(info));
  }
  return all;
}

Batch SessionRecipe::evict(const Key& key, Token token) const {
  const std::string holder =
      " FROM " + holders() + " WHERE h.lock_key = $1::bytea AND h.token = $2::bigint";
  const std::vector<SqlValue> values{key.hash, static_cast<std::int64_t>(token.value())};
  Batch batch(3);
  batch[0].text = "SELECT 1";
  batch[1] = {"SELECT (SELECT h.pid" + holder + ")", values};
  batch[1].answer = one_row("p");
  batch[2] = {"SELECT pg_terminate_backend(h.pid)" + holder, values};
  return batch;
}

Batch SessionRecipe::still_held_by(const Key& key, std::uint64_t session) const {
  return session::one(
      "SELECT 1 FROM " + holders() + " WHERE h.lock_key = $1::bytea AND h.pid = $2::integer",
      {key.hash, static_cast<std::int64_t>(session)});
}

}  // namespace holdfast::internal::postgres
