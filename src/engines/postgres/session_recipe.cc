#include "engines/postgres/session_recipe.h"

#include <algorithm>

#include "base/text.h"
#include "engines/session/mark.h"
#include "sql/postgres/errors.h"
#include "sql/postgres/schema.h"
#include "sql/postgres/session.h"
#include "sql/postgres/tables.h"
#include "sql/session_key.h"
#include "wire/server_group.h"

namespace holdfast::internal::postgres {

namespace {

using session::Batch;
using session::Key;

// The server cuts a session's name after 63 bytes: this, a blank, 16 digits, and Life::id.
constexpr std::size_t kMaxApplication = 31;
constexpr const char* kLifeSize = "15";

constexpr SessionUse kUse{
    // Else the server would not see that the client of a session that waits has gone.
    .more = ", set_config('client_connection_check_interval', '500ms', false)"};
constexpr const char* kNeededRights =
    "those that docs/engines/postgres.md names, and `holdfast schema --on URL` prints the tables "
    "for somebody who may make them";

// Identifies the server and its life. A crash of one backend ends all others, and the server begins anew
// without a new postmaster; but it discards all statistics, where a reset by a user discards some. Both times tell:
// where the clock was set back, the later can be of a life before. $1: the session's name, without the life.
constexpr const char* kMeet =
    "WITH here AS MATERIALIZED (SELECT CASE WHEN pg_is_in_recovery() THEN '00000000'"
    " ELSE substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END AS timeline,"
    " (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint AS started,"
    " (extract(epoch FROM least(pg_stat_get_bgwriter_stat_reset_time(), a.stats_reset,"
    " w.stats_reset)) * 1000000)::bigint AS reset FROM pg_stat_archiver a, pg_stat_wal w)"
    " SELECT pg_backend_pid(), CASE WHEN pg_is_in_recovery() THEN 1 ELSE 0 END,"
    " greatest(h.started, h.reset), set_config('application_name', $1::text || '@'"
    " || left(md5(concat(c.system_identifier, ' ', h.timeline)), 4)"
    " || left(md5(concat(h.started, ' ', h.reset)), 10), false)"
    " FROM here h, pg_control_system() c";

}  // namespace

SessionRecipe::SessionRecipe(Runtime& runtime, Settings settings, std::string recipe)
    : runtime_(runtime), settings_(std::move(settings)), recipe_(std::move(recipe)) {}

std::string SessionRecipe::hash_of(const std::string& name) const {
  return *bytes_from_hex(session_key_hex(recipe_, name));
}

Key SessionRecipe::key_of(const Name& name) const {
  Key key;
  key.name = settings_.prefix + name.bytes();
  key.hash = hash_of(key.name);
  return key;
}

// ---- Connections -------------------------------------------------------------------------------

Task<Result<session::Opened>> SessionRecipe::connect(Deadline deadline) {
  const Deadline limit = deadline.sooner(runtime_.now() + settings_.connect_timeout);
  const std::uint64_t unique = runtime_.random();
  const std::string name = settings_.login.application.substr(0, kMaxApplication) + " " +
                           to_hex({reinterpret_cast<const std::uint8_t*>(&unique), sizeof unique});
  More meeting = [&name](const PostgresConnection& connection) {
    Batch batch(1);
    batch[0] = {std::string(kMeet) + " WHERE pg_backend_pid() = $2::integer",
                {name, std::int64_t{connection.backend_pid()}},
                true};
    batch[0].answer = row_if_any("PNNB");
    return batch;
  };
  Result<NewSession> made =
      co_await open_session(runtime_, settings_, kUse, limit, std::move(meeting));
  if (!made) co_return made.failure();
  const SqlRows& met = made->answers.at(0);
  if (met.empty()) co_return settings_.failure(Code::misconfigured, kNoPooling);
  // (It may be promoted in a moment: one who waits goes on.)
  if (met.number(0, 1) == 1) {
    co_return settings_.failure(Code::unreachable, "it can only be read: is it a standby?");
  }
  session::Opened opened;
  opened.number = static_cast<std::uint64_t>(met.number(0, 0));
  opened.peer = met.bytes(0, 3);
  // Once more: a proxy that pools transactions may have another backend for each.
  Batch again(1);
  again[0] = {"SELECT pg_backend_pid(), current_setting('application_name')", {}, true};
  again[0].answer = one_row("PB");
  const SqlOutcome later = co_await made->connection->run(std::move(again), limit);
  if (!later.ok()) co_return failure_of(never_run(*later.error));
  const auto later_number = static_cast<std::uint64_t>(later.results.at(0).number(0, 0));
  if (later_number != opened.number || later.results.at(0).bytes(0, 1) != opened.peer) {
    co_return settings_.failure(Code::misconfigured, kNoPooling);
  }
  meet(met);
  opened.descriptor = made->connection->descriptor();
  opened.connection = std::move(made->connection);
  co_return opened;
}

void SessionRecipe::meet(const SqlRows& rows) {
  const std::string session = rows.bytes(0, 3);
  const std::size_t place = session.rfind('@');
  const std::string id = place == std::string::npos ? "" : session.substr(place);
  if (id != life_.id) life_ = Life{.id = id, .began_us = rows.number(0, 2), .asked = {}};
}

SqlTrouble SessionRecipe::trouble_with(const SqlError& error) const {
  return postgres::trouble_with(error);
}

Failure SessionRecipe::failure_of(const SqlError& error) const {
  return reported_failure(runtime_, settings_, error, kNeededRights);
}

Batch SessionRecipe::expire_after(Duration idle) const {
  // The server counts to 24 days. Beyond that it ends no session by itself: rather a holder that
  // froze keeps its lock than one that is well loses it before its ttl.
  const auto count = std::chrono::ceil<std::chrono::milliseconds>(idle).count();
  const std::string ms = std::to_string(count <= INT32_MAX ? count : 0);
  // A transaction of its own: what is set in that of the lock is undone if that is rolled back.
  Batch batch(3);
  batch[0].text = "BEGIN";
  batch[1] = {
      "SELECT set_config('idle_session_timeout', $1::text, false),"
      " set_config('idle_in_transaction_session_timeout', $1::text, false)",
      {ms}};
  batch[2].text = "COMMIT";
  return batch;
}

Batch SessionRecipe::interrupt(const session::Opened& session) const {
  return session::one(
      "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
      " WHERE pid = $1::integer AND application_name = $2::text",
      {static_cast<std::int64_t>(session.number), session.peer});
}

Batch SessionRecipe::end_session(std::uint64_t number, const std::string& peer) const {
  return session::one(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
      " WHERE pid = $1::integer AND application_name = $2::text",
      {static_cast<std::int64_t>(number), peer});
}

Batch SessionRecipe::find_session(std::uint64_t number, const std::string& peer) const {
  return session::one(
      "SELECT 1 FROM pg_stat_activity"
      " WHERE pid = $1::integer AND application_name = $2::text",
      {static_cast<std::int64_t>(number), peer});
}

Batch SessionRecipe::find_waiting(std::uint64_t number, const std::string& peer) const {
  Batch batch = find_session(number, peer);
  batch[0].text += " AND state NOT LIKE 'idle%'";
  return batch;
}

// ---- Tokens ------------------------------------------------------------------------------------

std::vector<SqlValue> noting_values(const Key& key, const Claim& claim) {
  return {key.hash, claim_bytes(claim.id), claim.label.substr(0, session::kMaxLabel),
          std::int64_t{std::chrono::duration_cast<std::chrono::microseconds>(claim.ttl).count()}};
}

std::vector<SqlValue> SessionRecipe::own_values(const session::Opened& session) {
  return {session.peer, static_cast<std::int64_t>(session.number)};
}

// After a failover, or with a backup that was restored, the row may be an old one: the clock is ahead of
// what it has forgotten.
std::string SessionRecipe::next_token() {
  return std::string("greatest(t.token + 1, ") + kNowUs + ")";
}
std::string SessionRecipe::first_token() { return kNowUs; }

std::string SessionRecipe::of_this_life() const {
  return std::string("right(t.session, ") + kLifeSize + ") = '" + life_.id + "'";
}

std::string SessionRecipe::of_this_server() const {
  const std::string life = std::string("right(t.session, ") + kLifeSize + ")";
  return "(left(" + life + ", 5) = '" + life_.id.substr(0, 5) + "' OR left(" + life +
         ", 1) <> '@')";
}

// The last word of its holder came before this life began; that of another server's, before somebody
// first asked this one: quarantine() notes it. (A name without a life was given by an earlier version.)
std::string SessionRecipe::over() const {
  const std::string began = std::to_string(life_.began_us);
  return "(coalesce(t.ttl_us, 0) + CASE WHEN t.session LIKE 'nobody@%' THEN greatest(" + began +
         ", (extract(epoch FROM t.since) * 1000000)::bigint) ELSE " + began + " END)";
}

// In any case it is over if its ttl has passed since this client first asked, whatever the clock says.
std::string SessionRecipe::may_be_granted(const Key& key) const {
  const std::int64_t waited_us = life_.asked.waited_us(key.hash);
  return "(t.session IS NULL OR " + of_this_life() + " OR (" + of_this_server() + " AND " + kNowUs +
         " >= " + over() + ") OR coalesce(t.ttl_us, 0) <= " + std::to_string(waited_us) + ")";
}

Batch SessionRecipe::quarantine(const Key& key) {
  if (!settings_.tokens) return {};
  const std::int64_t waited_us = life_.asked.ask(key.hash, runtime_.now());
  // In the row, so that those who come later, and do not wait themselves, need not begin anew.
  return {
      {"UPDATE holdfast_token t SET session = $2::text, since = clock_timestamp()"
       " WHERE t.lock_key = $1::bytea AND NOT " +
           of_this_server(),
       {key.hash, "nobody" + life_.id.substr(0, 5) + "nobody----"},
       true},
      {"SELECT least(" + over() + " - " + kNowUs + ", t.ttl_us - " + std::to_string(waited_us) +
           ") FROM holdfast_token t WHERE t.lock_key = $1::bytea AND NOT " + may_be_granted(key),
       {key.hash},
       true,
       row_if_any("n")}};
}

std::string SessionRecipe::drawing(const Key& key, const std::string& session,
                                   const std::string& where) const {
  return "UPDATE holdfast_token t SET token = " + next_token() +
         ", claim = $2::bytea, session = " + session +
         ", label = $3::bytea, since = clock_timestamp(), ttl_us = $4::bigint" + where +
         " t.lock_key = $1::bytea AND " + may_be_granted(key);
}

Batch SessionRecipe::prepare(const Key& key) const {
  if (!settings_.tokens) return {};
  return session::one(
      "INSERT INTO holdfast_token (lock_key, name, token) VALUES ($1::bytea, $2::bytea, 0)"
      " ON CONFLICT (lock_key) DO NOTHING",
      {key.hash, key.name});
}

Batch SessionRecipe::make_tables() const { return postgres::make_tables(settings_); }

std::optional<Failure> SessionRecipe::no_tables() const {
  if (settings_.create_schema) return std::nullopt;
  return tables_missing(settings_);
}

}  // namespace holdfast::internal::postgres
