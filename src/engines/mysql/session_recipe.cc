#include "engines/mysql/session_recipe.h"

#include "base/sha256.h"
#include "base/text.h"

namespace holdfast::internal::mysql {

namespace {

using session::Batch;
using session::Key;
using session::Trouble;

constexpr std::size_t kMostLabel = 200;
// Not as one word anywhere else: a query that looks for it must not find itself.
constexpr const char* kMark = "/* holdfast ";

std::string bytes_of(const ClaimId& id) {
  return std::string(reinterpret_cast<const char*>(id.bytes().data()), ClaimId::kBytes);
}

ClaimId claim_from(const std::string& bytes) {
  std::array<std::uint8_t, ClaimId::kBytes> id{};
  for (std::size_t i = 0; i < id.size() && i < bytes.size(); ++i) {
    id[i] = static_cast<std::uint8_t>(bytes[i]);
  }
  return ClaimId(id);
}

std::string hex_of(const std::string& bytes) {
  return to_hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

Duration microseconds(std::int64_t count) {
  return std::chrono::microseconds(std::max<std::int64_t>(count, 0));
}

// The columns of a row of holdfast_tokens, and when its holder last spoke.
constexpr const char* kHolder =
    "SELECT t.lock_key, t.name, t.token, t.claim, t.label, "
    "TIMESTAMPDIFF(MICROSECOND, t.since, NOW(6)), t.ttl_us, "
    "IS_USED_LOCK(t.lock_name) <=> t.connection, p.%TIME% "
    "FROM holdfast_tokens t LEFT JOIN information_schema.PROCESSLIST p ON p.ID = t.connection ";
// Who waits: when it began, and the mark in front of its statement.
constexpr const char* kWaiters =
    "SELECT %TIME%, INFO FROM information_schema.PROCESSLIST "
    "WHERE COMMAND = 'Query' AND INFO LIKE ";

enum HolderColumn { kKey, kName, kToken, kClaim, kLabel, kHeldUs, kTtlUs, kHolds, kIdleMs };

void add_holder(LockInfo& info, const SqlRows& rows, std::size_t row) {
  info.last_token = Token(static_cast<std::uint64_t>(rows.number(row, kToken)));
  if (rows.number(row, kHolds) != 1) return;
  HolderInfo holder{.id = claim_from(rows.bytes(row, kClaim)),
                    .mode = Mode::exclusive,
                    .token = info.last_token,
                    .label = rows.bytes(row, kLabel),
                    .held_for = microseconds(rows.number(row, kHeldUs))};
  const Duration ttl = microseconds(rows.number(row, kTtlUs));
  const Duration idle = std::chrono::milliseconds(
      rows.null(row, kIdleMs) ? 0 : std::max<std::int64_t>(rows.number(row, kIdleMs), 0));
  holder.expires_in = std::max<Duration>(ttl - idle, Duration(1));
  info.holders.push_back(std::move(holder));
}

struct Waiter {
  std::string key;
  WaiterInfo info;
};

// "/* holdfast KEY CLAIM LABEL */ …"
std::optional<Waiter> waiter_from(const SqlRows& rows, std::size_t row) {
  const std::string text = rows.bytes(row, 1);
  const std::size_t begin = std::string_view(kMark).size();
  constexpr std::size_t kKeyDigits = 64;
  constexpr std::size_t kClaimDigits = 2 * ClaimId::kBytes;
  if (text.size() < begin + kKeyDigits + kClaimDigits + 3) return std::nullopt;
  Waiter waiter;
  const auto key = bytes_from_hex(std::string_view(text).substr(begin, kKeyDigits));
  const auto id =
      ClaimId::from_hex(std::string_view(text).substr(begin + kKeyDigits + 1, kClaimDigits));
  const std::size_t label = begin + kKeyDigits + kClaimDigits + 2;
  const auto words =
      bytes_from_hex(std::string_view(text).substr(label, text.find(' ', label) - label));
  if (!key || !id) return std::nullopt;
  waiter.key = *key;
  waiter.info.id = *id;
  waiter.info.label = words.value_or("");
  waiter.info.waited_for = std::chrono::milliseconds(rows.number(row, 0));
  return waiter;
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
  return *bytes_from_hex(sha256_hex(recipe_ + ":" + name));
}

// ---- Connections -------------------------------------------------------------------------------

Task<Result<session::Opened>> SessionRecipe::connect(Deadline deadline) {
  const Deadline limit = deadline.sooner(runtime_.now() + settings_.connection.connect_timeout);
  Result<std::unique_ptr<MariadbConnection>> made =
      co_await MariadbConnection::connect(runtime_, settings_.connection, limit);
  if (!made) co_return made.failure();
  MariadbConnection& connection = **made;
  is_mariadb_ = connection.is_mariadb();
  Batch batch(2);
  batch[0].text = "SET SESSION autocommit = 1, SESSION sql_mode = 'STRICT_ALL_TABLES', " +
                  std::string() +
                  (is_mariadb_ ? "SESSION tx_isolation" : "SESSION transaction_isolation") +
                  " = 'READ-COMMITTED'" + variables();
  batch[1].text =
      "SELECT CONNECTION_ID(), (SELECT HOST FROM information_schema.PROCESSLIST "
      "WHERE ID = CONNECTION_ID())";
  const SqlOutcome outcome = co_await connection.run(std::move(batch), limit);
  if (!outcome.ok()) co_return failure_of(*outcome.error);
  session::Opened opened;
  opened.number = static_cast<std::uint64_t>(outcome.results.at(1).number(0, 0));
  opened.peer = outcome.results.at(1).bytes(0, 1);
  opened.descriptor = connection.descriptor();
  opened.connection = std::move(made).value();
  co_return opened;
}

Trouble SessionRecipe::trouble_with(const SqlError& error) const {
  switch (error.number) {
    case 1205:  // lock wait timeout, and NOWAIT in MariaDB
    case 3572:  // NOWAIT in MySQL
      return Trouble::busy;
    case 1317: return Trouble::interrupted;
    case 1213:
    case 3058: return Trouble::again;
    case 1146: return Trouble::no_table;
    default: return Trouble::other;
  }
}

Failure SessionRecipe::failure_of(const SqlError& error) const {
  return mariadb_failure(error, settings_.connection.endpoint.display());
}

Batch SessionRecipe::expire_after(Duration idle) const {
  Batch batch(1);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(idle).count();
  batch[0].text =
      "SET SESSION wait_timeout = " + std::to_string(std::max<std::int64_t>(seconds, 1));
  return batch;
}

// The comment keeps the statement from being mistaken for another's: see waiter_from().
std::string SessionRecipe::mark(const Key& key, const Claim& claim) {
  return kMark + hex_of(key.hash) + " " + claim.id.hex() + " " +
         hex_of(claim.label.substr(0, kMostLabel)) + " */ ";
}

Batch SessionRecipe::interrupt(const session::Opened& session) const {
  Batch batch(1);
  batch[0].text = "KILL QUERY " + std::to_string(session.number);
  return batch;
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
  Batch batch(1);
  batch[0].text = "SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = ? AND HOST = ?";
  batch[0].values = {static_cast<std::int64_t>(number), peer};
  return batch;
}

// ---- Tokens ------------------------------------------------------------------------------------

SqlStatement SessionRecipe::upsert(const Key& key, const Claim& claim, const std::string& session,
                                   const std::string& condition) const {
  SqlStatement statement;
  statement.text =
      "INSERT INTO holdfast_tokens "
      "(lock_key, name, token, lock_name, connection, claim, label, since, ttl_us) "
      "SELECT ?, ?, LAST_INSERT_ID(1), ?, " +
      session + ", ?, ?, NOW(6), ? FROM DUAL WHERE " + condition +
      " ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(token + 1), lock_name = VALUES(lock_name), "
      "connection = VALUES(connection), claim = VALUES(claim), label = VALUES(label), "
      "since = VALUES(since), ttl_us = VALUES(ttl_us)";
  const auto ttl_us = std::chrono::duration_cast<std::chrono::microseconds>(claim.ttl).count();
  statement.values = {key.hash,
                      key.name,
                      sign(key, claim),
                      bytes_of(claim.id),
                      claim.label.substr(0, kMostLabel),
                      static_cast<std::int64_t>(ttl_us)};
  return statement;
}

Batch SessionRecipe::draw(const Key& key, const Claim& claim, std::uint64_t session) const {
  Batch batch(2);
  batch[0] = upsert(key, claim, std::to_string(session), "1 = 1");
  batch[1].text = "SELECT 1, LAST_INSERT_ID()";
  return batch;
}

std::vector<std::string> session_tables() {
  return {
      "CREATE TABLE IF NOT EXISTS holdfast_tokens (\n"
      "  lock_key BINARY(32) NOT NULL PRIMARY KEY,\n"
      "  name BLOB NOT NULL,\n"
      "  token BIGINT UNSIGNED NOT NULL,\n"
      "  lock_name VARBINARY(64) NOT NULL,\n"
      "  connection BIGINT UNSIGNED NOT NULL,\n"
      "  claim BINARY(16) NOT NULL,\n"
      "  label VARBINARY(255) NOT NULL,\n"
      "  since DATETIME(6) NOT NULL,\n"
      "  ttl_us BIGINT UNSIGNED NOT NULL\n"
      ") ENGINE=InnoDB",
      "CREATE TABLE IF NOT EXISTS holdfast_rows (\n"
      "  lock_key BINARY(32) NOT NULL PRIMARY KEY,\n"
      "  name BLOB NOT NULL\n"
      ") ENGINE=InnoDB"};
}

Batch SessionRecipe::make_tables() const {
  Batch batch;
  for (std::string& text : session_tables()) batch.push_back({std::move(text), {}});
  return batch;
}

std::optional<Failure> SessionRecipe::no_tables() const {
  if (settings_.create_schema) return std::nullopt;
  std::string tables;
  for (const std::string& text : session_tables()) tables += text + ";\n";
  return Failure(Code::misconfigured,
                 "MySQL at " + settings_.connection.endpoint.display() + ": the database '" +
                     settings_.connection.database +
                     "' has not got our tables, and create_schema=no forbids us to make them; let "
                     "its administrator run:\n" +
                     tables);
}

// ---- Looking -----------------------------------------------------------------------------------

Batch SessionRecipe::look(const Key& key) const {
  Batch batch(3);
  batch[0].text = std::string(kHolder) + "WHERE t.lock_key = ?";
  batch[0].values = {key.hash};
  batch[1].text = std::string(kWaiters) + "? ORDER BY 1 DESC, ID";
  batch[1].values = {kMark + hex_of(key.hash) + " %"};
  batch[2].text = "SELECT IS_USED_LOCK(?)";
  batch[2].values = {key.lock};
  for (SqlStatement& statement : batch) replace_time(statement.text, is_mariadb_);
  return batch;
}

LockInfo SessionRecipe::seen(const Name& name, const SqlOutcome& outcome) const {
  LockInfo info{.name = name};
  const SqlRows& rows = outcome.results.at(0);
  if (!rows.empty()) add_holder(info, rows, 0);
  const SqlRows& waiters = outcome.results.at(1);
  for (std::size_t i = 0; i < waiters.rows.size(); ++i) {
    if (auto waiter = waiter_from(waiters, i)) info.waiters.push_back(std::move(waiter->info));
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
  batch[0].values = {std::string(kMark) + "%"};
  batch[1].text = std::string(kHolder) +
                  "WHERE LEFT(t.name, ?) = ? AND (IS_USED_LOCK(t.lock_name) <=> t.connection OR "
                  "t.lock_key IN (SELECT UNHEX(SUBSTR(INFO, ?, 64)) "
                  "FROM information_schema.PROCESSLIST WHERE INFO LIKE ?))";
  batch[1].values = {size, whole, static_cast<std::int64_t>(std::string_view(kMark).size() + 1),
                     std::string(kMark) + "%"};
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
      auto waiter = waiter_from(waiters, j);
      if (waiter && waiter->key == key) info.waiters.push_back(std::move(waiter->info));
    }
    if (!info.holders.empty() || !info.waiters.empty()) all.push_back(std::move(info));
  }
  return all;
}

// In one trip, so that the session has no time to give back and take something else.
Batch SessionRecipe::evict(const Key& key, Token token) const {
  Batch batch(3);
  batch[0].text =
      "SET @holdfast = (SELECT connection FROM holdfast_tokens WHERE lock_key = ? AND token = ? "
      "AND IS_USED_LOCK(lock_name) <=> connection)";
  batch[0].values = {key.hash, static_cast<std::int64_t>(token.value())};
  batch[1].text = "SELECT @holdfast";
  batch[2].text = "KILL @holdfast";
  return batch;
}

Batch SessionRecipe::still_held_by(const Key& key, std::uint64_t session) const {
  Batch batch(1);
  batch[0].text =
      "SELECT 1 FROM holdfast_tokens WHERE lock_key = ? AND connection = ? "
      "AND IS_USED_LOCK(lock_name) <=> connection";
  batch[0].values = {key.hash, static_cast<std::int64_t>(session)};
  return batch;
}

}  // namespace holdfast::internal::mysql
