#include "engines/mysql/session_recipe.h"

#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"
#include "engines/session/mark.h"
#include "sql/mysql/errors.h"
#include "sql/mysql/schema.h"
#include "sql/mysql/session.h"
#include "sql/mysql/tables.h"
#include "sql/session_key.h"
#include "wire/server_group.h"

namespace holdfast::internal::mysql {

namespace {

using session::Batch;
using session::Key;
using session::microseconds;
using session::milliseconds;

// The session that a row of holdfast_tokens names: the number that the server knows it by, without the
// life above it. And whether it still has the lock.
constexpr const char* kStillHolds =
    "IS_USED_LOCK(SUBSTRING_INDEX(t.lock_name, '#', 1)) <=> (t.connection & 4294967295)";
// The columns of a row of holdfast_tokens, and when its holder last spoke.
constexpr const char* kHolder =
    "SELECT t.lock_key, t.name, t.token, t.claim, t.label, "
    "TIMESTAMPDIFF(MICROSECOND, t.since, UTC_TIMESTAMP(6)), t.ttl_us, "
    "IS_USED_LOCK(SUBSTRING_INDEX(t.lock_name, '#', 1)) <=> (t.connection & 4294967295), p.%TIME% "
    "FROM holdfast_tokens t LEFT JOIN information_schema.PROCESSLIST p "
    "ON p.ID = (t.connection & 4294967295) ";
// Waiters: since when, and the mark in front of their statements.
constexpr const char* kWaiters =
    "SELECT %TIME%, INFO FROM information_schema.PROCESSLIST "
    "WHERE COMMAND = 'Query' AND INFO LIKE ";

enum HolderColumn { kKey, kName, kToken, kClaim, kLabel, kHeldUs, kTtlUs, kHolds, kIdleMs };
constexpr const char* kHolderKinds = "BBNBBNNNn";

void add_holder(LockInfo& info, const SqlRows& rows, std::size_t row) {
  info.last_token = Token(static_cast<std::uint64_t>(rows.number(row, kToken)));
  if (rows.number(row, kHolds) != 1) return;
  HolderInfo holder{.id = claim_from_bytes(rows.bytes(row, kClaim)),
                    .mode = Mode::exclusive,
                    .token = info.last_token,
                    .label = rows.bytes(row, kLabel),
                    .held_for = microseconds(rows.number(row, kHeldUs))};
  const Duration ttl = microseconds(rows.number(row, kTtlUs));
  const Duration idle = milliseconds(rows.number(row, kIdleMs));
  holder.expires_in = std::max<Duration>(ttl - idle, Duration(1));
  info.holders.push_back(std::move(holder));
}

std::optional<session::Marked> waiter_from(const SqlRows& rows, std::size_t row) {
  auto marked = session::read_mark(rows.bytes(row, 1));
  if (marked) marked->waiter.waited_for = milliseconds(rows.number(row, 0));
  return marked;
}

void replace_time(std::string& text, bool is_mariadb) {
  constexpr std::string_view kPlace = "%TIME%";
  const std::size_t place = text.find(kPlace);
  if (place != std::string::npos) {
    text.replace(place, kPlace.size(), is_mariadb ? "TIME_MS" : "TIME * 1000");
  }
}

}  // namespace

SessionRecipe::SessionRecipe(Runtime& runtime, Settings settings, std::string recipe)
    : runtime_(runtime), settings_(std::move(settings)), recipe_(std::move(recipe)) {}

std::string SessionRecipe::hash_of(const std::string& name) const {
  return *bytes_from_hex(session_key_hex(recipe_, name));
}

// ---- Connections -------------------------------------------------------------------------------

Task<Result<session::Opened>> SessionRecipe::connect(Deadline deadline) {
  const Deadline limit = deadline.sooner(runtime_.now() + settings_.connection.connect_timeout);
  More meeting = [this](const MariadbConnection& connection) {
    is_mariadb_ = connection.is_mariadb();
    Batch batch(2);
    batch[0].text =
        "SELECT CONNECTION_ID(), (SELECT HOST FROM information_schema.PROCESSLIST "
        "WHERE ID = CONNECTION_ID())";
    batch[0].answer = one_row("PB");
    // In one statement, so that the difference is the same whenever it is asked for. A server's own id
    // differs from that of a server that it replicates.
    batch[1].text =
        std::string("SELECT CONCAT_WS(' ', @@hostname, @@port, @@datadir, @@server_id") +
        (is_mariadb_ ? "" : ", @@server_uuid") +
        "), TIMESTAMPDIFF(SECOND, '1970-01-01', UTC_TIMESTAMP()) - "
        "CAST(VARIABLE_VALUE AS SIGNED), " +
        kNowUs + " FROM " +
        (is_mariadb_ ? "information_schema.GLOBAL_STATUS" : "performance_schema.global_status") +
        " WHERE VARIABLE_NAME = 'Uptime'";
    batch[1].answer = row_if_any("BNN");
    return batch;
  };
  SessionUse use{.more = variables()};
  Result<NewSession> made =
      co_await open_session(runtime_, settings_, std::move(use), limit, std::move(meeting));
  if (!made) co_return made.failure();
  const SqlRows& life = made->answers.at(1);
  if (life.empty()) {
    co_return settings_.failure(Code::misconfigured,
                                "it does not tell when it was started (status variable Uptime)");
  }
  if (const Duration young = meet(life); young > Duration::zero()) {
    co_await sleep_until(runtime_, runtime_.now() + young);
  }
  session::Opened opened;
  opened.number = static_cast<std::uint64_t>(made->answers.at(0).number(0, 0));
  opened.peer = made->answers.at(0).bytes(0, 1);
  opened.descriptor = made->connection->descriptor();
  opened.connection = std::move(made->connection);
  co_return opened;
}

Duration SessionRecipe::meet(const SqlRows& rows) {
  constexpr std::int64_t kSecond = 1'000'000;
  constexpr std::int64_t kLatest = 1LL << 32;  // the year 2106; more has no room in Life::number
  const std::int64_t began = std::clamp<std::int64_t>(rows.number(0, 1), 0, kLatest);
  Life life;
  life.server = "#" + bytes_from_hex(sha256_hex(rows.bytes(0, 0)))->substr(0, 3);
  // The server tells whole seconds. It grants nothing in the one in which it began, or grants of the
  // life before could look as if they were of this one.
  life.began_us = (began + 1) * kSecond;
  life.number = "(" + std::to_string(began) + " << 32)";
  if (life.server != life_.server || life.began_us != life_.began_us) life_ = life;
  return std::min<Duration>(microseconds(life.began_us) - microseconds(rows.number(0, 2)),
                            std::chrono::seconds(1));
}

SqlTrouble SessionRecipe::trouble_with(const SqlError& error) const {
  return mysql::trouble_with(error);
}

Failure SessionRecipe::failure_of(const SqlError& error) const {
  return reported_failure(runtime_, settings_, error);
}

Batch SessionRecipe::expire_after(Duration idle) const {
  Batch batch(1);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(idle).count();
  batch[0].text =
      "SET SESSION wait_timeout = " + std::to_string(std::max<std::int64_t>(seconds, 1));
  return batch;
}

Batch SessionRecipe::interrupt(const session::Opened& session) const {
  return session::one("KILL QUERY " + std::to_string(session.number));
}

// Never by its number alone: after a restart of the server that can be another's.
Batch SessionRecipe::end_session(std::uint64_t number, const std::string& peer) const {
  Batch batch(2);
  batch[0].text =
      "SET @holdfast = (SELECT ID FROM information_schema.PROCESSLIST WHERE ID = ? AND HOST = ?)";
  batch[0].values = {static_cast<std::int64_t>(number), peer};
  batch[1].text = "KILL @holdfast";
  return batch;
}

Batch SessionRecipe::find_session(std::uint64_t number, const std::string& peer) const {
  return session::one("SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = ? AND HOST = ?",
                      {static_cast<std::int64_t>(number), peer});
}

Batch SessionRecipe::find_waiting(std::uint64_t number, const std::string& peer) const {
  Batch batch = find_session(number, peer);
  batch[0].text += " AND COMMAND <> 'Sleep'";
  return batch;
}

// ---- Tokens ------------------------------------------------------------------------------------

// After a failover, or with a backup that was restored, the row may be an old one: the clock is ahead of
// what it has forgotten.
//
// The next holder draws after us: the row is ours before the server looks at the lock, whose name is made to depend
// on the row for that.
void SessionRecipe::draw_into(Batch& batch, const Key& key, const Claim& claim,
                              const std::string& session, const std::string& condition) const {
  SqlStatement statement;
  statement.text = "UPDATE holdfast_tokens SET token = LAST_INSERT_ID(GREATEST(token + 1, " +
                   std::string(kNowUs) + ")), lock_name = ?, connection = " + session + " + " +
                   life_.number +
                   ", claim = ?, label = ?, since = UTC_TIMESTAMP(6), ttl_us = ? "
                   "WHERE lock_key = ? AND IS_USED_LOCK(CONCAT(?, LEFT(name, 0))) = " +
                   session + condition + " AND " + may_be_granted(key);
  const auto ttl_us = std::chrono::duration_cast<std::chrono::microseconds>(claim.ttl).count();
  statement.values = {sign(key, claim) + life_.server,
                      claim_bytes(claim.id),
                      claim.label.substr(0, session::kMaxLabel),
                      static_cast<std::int64_t>(ttl_us),
                      key.hash,
                      sign(key, claim)};
  statement.answer = no_rows();
  batch.push_back(std::move(statement));
  if (!asks_for_token_) return;
  batch.push_back({"SELECT LAST_INSERT_ID()", {}});
  batch.back().answer = one_row("n");
}

namespace {
std::string moment(std::int64_t us) {
  return "(TIMESTAMP'1970-01-01 00:00:00' + INTERVAL " + std::to_string(us) + " MICROSECOND)";
}
}  // namespace

// Not by the times of grants: the clock may have been another in the life before.
std::string SessionRecipe::of_this_life() const {
  return "(RIGHT(lock_name, 4) = X'" + to_hex(life_.server) +
         "' AND connection >> 32 << 32 = " + life_.number + ")";
}

std::string SessionRecipe::of_this_server() const {
  return "(RIGHT(lock_name, 4) = X'" + to_hex(life_.server) + "' OR LOCATE('#', lock_name) = 0)";
}

// The last word of its holder came before this server began; that of another server's, before somebody
// first asked this one: quarantine() notes it.
std::string SessionRecipe::over() const {
  const std::string began = moment(life_.began_us);
  return "IF(connection = 0, GREATEST(since, " + began + "), " + began +
         ") + INTERVAL ttl_us MICROSECOND";
}

// In any case it is over if its ttl has passed since this client first asked, whatever the clock says.
std::string SessionRecipe::may_be_granted(const Key& key) const {
  return "(" + of_this_life() + " OR (" + of_this_server() + " AND UTC_TIMESTAMP(6) >= " + over() +
         ") OR ttl_us <= " + std::to_string(life_.asked.waited_us(key.hash)) + ")";
}

Batch SessionRecipe::quarantine(const Key& key) {
  if (!settings_.tokens) return {};
  const std::int64_t waited_us = life_.asked.ask(key.hash, runtime_.now());
  const std::string left = "CAST(ttl_us AS SIGNED) - " + std::to_string(waited_us);
  // Noted in the row, so that clients that come later, and do not wait themselves, need not begin anew.
  Batch batch(2);
  batch[0] = {
      "UPDATE holdfast_tokens SET lock_name = ?, connection = 0, since = UTC_TIMESTAMP(6) "
      "WHERE lock_key = ? AND NOT " +
          of_this_server(),
      {"hf:nobody" + life_.server, key.hash}};
  batch[1] = {"SELECT LEAST(" + left + ", TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), " + over() +
                  ")) FROM holdfast_tokens WHERE lock_key = ? AND NOT " + may_be_granted(key),
              {key.hash}};
  batch[1].answer = row_if_any("N");
  return batch;
}

std::optional<std::string> SessionRecipe::take_token(SqlOutcome& outcome) const {
  std::optional<std::string> token;
  if (!outcome.results.back().empty()) {
    token = outcome.results.back().at(0, 0);
    outcome.results.pop_back();
  }
  const SqlRows drawn = std::move(outcome.results.back());
  outcome.results.pop_back();
  if (drawn.affected != 1) return std::nullopt;
  if (!token && drawn.id != 0) token = std::to_string(drawn.id);
  if (!token) asks_for_token_ = true;
  return token;
}

Batch SessionRecipe::prepare(const Key& key) const {
  if (!settings_.tokens) return {};
  return session::one(
      "INSERT IGNORE INTO holdfast_tokens "
      "(lock_key, name, token, lock_name, connection, claim, label, since, ttl_us) "
      "VALUES (?, ?, 0, 'hf:nobody', 0, REPEAT(X'00', 16), '', UTC_TIMESTAMP(6), 0)",
      {key.hash, key.name});
}

Batch SessionRecipe::make_tables() const { return mysql::make_tables(settings_); }

std::optional<Failure> SessionRecipe::no_tables() const {
  if (settings_.create_schema) return std::nullopt;
  return tables_missing(settings_);
}

// ---- Looking -----------------------------------------------------------------------------------

Batch SessionRecipe::look(const Key& key) const {
  Batch batch(3);
  batch[0].text = std::string(kHolder) + "WHERE t.lock_key = ?";
  batch[0].values = {key.hash};
  batch[0].answer = row_if_any(kHolderKinds);
  batch[1].text = std::string(kWaiters) + "? ORDER BY 1 DESC, ID";
  batch[1].values = {session::marked(key)};
  batch[1].answer = rows_of("nb");
  batch[2].text = "SELECT NULL";
  if (!key.lock.empty()) batch[2] = {"SELECT IS_USED_LOCK(?)", {key.lock}};
  batch[2].answer = one_row("n");
  for (SqlStatement& statement : batch) replace_time(statement.text, is_mariadb_);
  return batch;
}

LockInfo SessionRecipe::seen(const Name& name, const SqlOutcome& outcome) const {
  LockInfo info{.name = name};
  const SqlRows& rows = outcome.results.at(0);
  if (!rows.empty()) add_holder(info, rows, 0);
  const SqlRows& waiters = outcome.results.at(1);
  for (std::size_t i = 0; i < waiters.rows.size(); ++i) {
    if (auto marked = waiter_from(waiters, i)) info.waiters.push_back(std::move(marked->waiter));
  }
  const SqlRows& user = outcome.results.at(2);
  if (info.holders.empty() && !user.null(0, 0)) {
    info.holders.push_back({.label = "connection " + user.bytes(0, 0) + " of the server"});
  }
  return info;
}

Batch SessionRecipe::look_at_all(const std::string& prefix) const {
  const std::string whole = settings_.prefix + prefix;
  const auto size = static_cast<std::int64_t>(whole.size());
  Batch batch(2);
  batch[0].text = std::string(kWaiters) + "? ORDER BY 1 DESC, ID";
  batch[0].values = {session::marked()};
  batch[0].answer = rows_of("nb");
  batch[1].text = std::string(kHolder) + "WHERE LEFT(t.name, ?) = ? AND (" + kStillHolds +
                  " OR "
                  "t.lock_key IN (SELECT UNHEX(SUBSTR(INFO, ?, 64)) "
                  "FROM information_schema.PROCESSLIST WHERE INFO LIKE ?))";
  batch[1].values = {size, whole, static_cast<std::int64_t>(session::kMarkBegin.size() + 1),
                     session::marked()};
  batch[1].answer = rows_of(kHolderKinds);
  for (SqlStatement& statement : batch) replace_time(statement.text, is_mariadb_);
  return batch;
}

std::vector<LockInfo> SessionRecipe::all_seen(const SqlOutcome& outcome) const {
  const SqlRows& waiters = outcome.results.at(0);
  const SqlRows& rows = outcome.results.at(1);
  std::vector<LockInfo> all;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    // The other recipe's rows stand in the same table.
    const std::string name = rows.bytes(i, kName);
    const std::string key = rows.bytes(i, kKey);
    if (key != hash_of(name) || name.size() <= settings_.prefix.size()) continue;
    LockInfo info{.name = Name(name.substr(settings_.prefix.size()))};
    add_holder(info, rows, i);
    for (std::size_t j = 0; j < waiters.rows.size(); ++j) {
      auto marked = waiter_from(waiters, j);
      if (marked && marked->key_hash == key) info.waiters.push_back(std::move(marked->waiter));
    }
    if (!info.holders.empty() || !info.waiters.empty()) all.push_back(std::move(info));
  }
  return all;
}

// In one trip, so that the session has no time to give back and take something else.
Batch SessionRecipe::evict(const Key& key, Token token) const {
  Batch batch(3);
  batch[0].text =
      "SET @holdfast = (SELECT (t.connection & 4294967295) FROM holdfast_tokens t WHERE lock_key = "
      "? AND token = ? "
      "AND " +
      std::string(kStillHolds) + ")";
  batch[0].values = {key.hash, static_cast<std::int64_t>(token.value())};
  batch[1].text = "SELECT @holdfast";
  batch[1].answer = one_row("p");
  batch[2].text = "KILL @holdfast";
  return batch;
}

Batch SessionRecipe::still_held_by(const Key& key, std::uint64_t session) const {
  return session::one(
      "SELECT 1 FROM holdfast_tokens t WHERE lock_key = ? AND (t.connection & 4294967295) = ? "
      "AND " +
          std::string(kStillHolds),
      {key.hash, static_cast<std::int64_t>(session)});
}

}  // namespace holdfast::internal::mysql
