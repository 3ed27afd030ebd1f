// "advisory": pg_advisory_lock, which lives as long as its session.
#include "engines/postgres/session_recipe.h"
#include "engines/session/mark.h"

namespace holdfast::internal::postgres {

class AdvisoryRecipe final : public SessionRecipe {
 public:
  AdvisoryRecipe(Runtime& runtime, const Settings& settings)
      : SessionRecipe(runtime, settings, "advisory") {}

  // The token is drawn after the lock is ours: the MATERIALIZED expression is computed first, and
  // what is written depends on it.
  session::Batch take(const session::Key& key, const Claim& claim) const override {
    session::Batch batch(1);
    const std::string lock = function("try_", claim);
    if (!settings().tokens) {
      batch[0].text = "SELECT CASE WHEN " + lock + "($1::bigint) THEN 1 ELSE 0 END, NULL";
      batch[0].values = {number_of(key)};
      batch[0].answer = session::hold_row();
      return batch;
    }
    const bool shared = claim.mode == Mode::shared;
    batch[0].values = shared ? sharing_values(key, claim) : noting_values(key, claim);
    batch[0].values.emplace_back(number_of(key));
    const std::string number = "$" + std::to_string(batch[0].values.size()) + "::bigint";
    batch[0].text =
        "WITH got AS MATERIALIZED (SELECT " + lock + "(" + number + ") AS ok), " +
        (shared ? sharing(key, " FROM got WHERE ok")
                : "drawn AS (" + drawing(key, kOwnSession, " FROM got WHERE got.ok AND") +
                      " RETURNING t.token)") +
        " SELECT CASE WHEN ok THEN 1 ELSE 0 END, (SELECT token FROM drawn) FROM got";
    batch[0].answer = session::hold_row();
    return batch;
  }

  session::Batch wait(const session::Key& key, const Claim& claim,
                      std::optional<Duration>) const override {
    session::Batch batch(1);
    batch[0].text = mark_of(key, claim) + "SELECT 1, NULL, " + function("", claim) + "($1::bigint)";
    batch[0].values = {number_of(key)};
    batch[0].once = true;
    batch[0].answer = session::hold_row();
    if (!settings().tokens) return batch;
    // A statement of its own: it must see what was committed while the first one waited.
    if (claim.mode == Mode::shared) {
      batch.push_back(
          {"WITH " + sharing(key, "") + " SELECT 1, token FROM drawn", sharing_values(key, claim)});
    } else {
      batch.push_back({drawing(key, kOwnSession, " WHERE") + " RETURNING 1, t.token",
                       noting_values(key, claim)});
    }
    batch.back().answer = session::hold_row();
    return batch;
  }

  // Nobody else can give it back in our session, so we have it if it is the one that we opened.
  session::Batch confirm(const session::Key&, const Claim&,
                         const session::Opened& session) const override {
    return session::one(std::string("SELECT CASE WHEN ") + kIsOwn + " THEN 1 ELSE 0 END, NULL",
                        own_values(session), session::hold_row());
  }

  session::Batch give(const session::Key& key, const Claim& claim) const override {
    session::Batch batch(1);
    batch[0].text =
        "SELECT CASE WHEN " + function("un", claim) + "($1::bigint) THEN 1 ELSE 0 END, NULL";
    batch[0].values = {number_of(key)};
    batch[0].answer = session::hold_row();
    if (settings().tokens && claim.mode == Mode::shared) {
      batch[0].text =
          "WITH gone AS (DELETE FROM holdfast_shared WHERE claim = $2::bytea) " + batch[0].text;
      batch[0].values.emplace_back(claim_bytes(claim.id));
    }
    return batch;
  }

  session::Batch clean(Duration long_dead) const override {
    if (!settings().tokens) return {};
    session::Batch batch(1);
    // The sessions of others are hidden from a user without rights: who does not see all of them
    // does not know who is dead.
    batch[0] = {
        "DELETE FROM holdfast_shared s"
        " WHERE s.since < clock_timestamp() - $1::bigint * interval '1 microsecond'"
        " AND NOT EXISTS (SELECT 1 FROM pg_stat_activity a WHERE a.application_name = s.session)"
        " AND NOT EXISTS (SELECT 1 FROM pg_stat_activity a WHERE a.backend_type IS NULL)",
        {std::int64_t{std::chrono::duration_cast<std::chrono::microseconds>(long_dead).count()}}};
    return batch;
  }

  // Without tokens there are no tables, but the server knows its locks.
  session::Batch look(const session::Key& key) const override {
    if (settings().tokens) return SessionRecipe::look(key);
    return session::one(
        "SELECT CASE WHEN l.granted THEN 1 ELSE 0 END, CASE l.mode WHEN 'ShareLock' THEN 1 ELSE 0 "
        "END, a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
        " JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()"
        " WHERE l.locktype = 'advisory' AND l.objsubid = 1"
        " AND (l.classid::bigint << 32 | l.objid::bigint) = $1::bigint"
        " ORDER BY l.waitstart",
        {number_of(key)}, rows_of("NNb"));
  }
  LockInfo seen(const Name& name, const SqlOutcome& outcome) const override {
    if (settings().tokens) return SessionRecipe::seen(name, outcome);
    LockInfo info{.name = name};
    const SqlRows& rows = outcome.results.at(0);
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
      const Mode mode = rows.number(i, 1) == 1 ? Mode::shared : Mode::exclusive;
      if (rows.number(i, 0) == 1) {
        info.holders.push_back({.mode = mode, .label = rows.bytes(i, 2)});
      } else {
        info.waiters.push_back({.mode = mode, .label = rows.bytes(i, 2)});
      }
    }
    return info;
  }

  bool busy_leaves_something() const override { return false; }

 protected:
  std::string lock_of(const std::string& row) const override {
    return "l.locktype = 'advisory' AND l.objsubid = 1"
           " AND (l.classid::bigint << 32 | l.objid::bigint) = ('x' || substr(encode(" +
           row + ".lock_key, 'hex'), 1, 16))::bit(64)::bigint";
  }
  std::string shared_holders() const override {
    return " UNION ALL SELECT s.lock_key, s.claim, 1, s.token, s.label, s.since, s.ttl_us, a.pid,"
           " a.state_change FROM holdfast_shared s"
           " JOIN pg_stat_activity a ON a.application_name = s.session"
           " JOIN pg_locks l ON l.pid = a.pid AND l.granted AND l.mode = 'ShareLock' AND " +
           lock_of("s");
  }

 private:
  static constexpr const char* kOwnSession = "current_setting('application_name')";

  // As drawing(), for one of several: `drawn` and `noted`. `from` is where the new row comes from.
  // The longest ttl of all that share it stays in the lock's own row.
  std::string sharing(const session::Key& key, const std::string& from) const {
    return "drawn AS (INSERT INTO holdfast_token AS t (lock_key, name, token, session, ttl_us)"
           " SELECT $1::bytea, $5::bytea, " +
           first_token() + ", " + kOwnSession + ", $4::bigint" + from +
           " ON CONFLICT (lock_key) DO UPDATE SET token = " + next_token() +
           ", session = excluded.session, ttl_us = CASE WHEN " + of_this_life() +
           " THEN greatest(t.ttl_us, excluded.ttl_us) ELSE excluded.ttl_us END WHERE " +
           may_be_granted(key) +
           " RETURNING token),"
           " noted AS (INSERT INTO holdfast_shared"
           " (claim, lock_key, session, token, label, since, ttl_us)"
           " SELECT $2::bytea, $1::bytea, current_setting('application_name'), token, $3::bytea,"
           " clock_timestamp(), $4::bigint FROM drawn ON CONFLICT (claim) DO UPDATE SET"
           " lock_key = excluded.lock_key, session = excluded.session, token = excluded.token,"
           " since = excluded.since)";
  }
  static std::vector<SqlValue> sharing_values(const session::Key& key, const Claim& claim) {
    std::vector<SqlValue> values = noting_values(key, claim);
    values.emplace_back(key.name);
    return values;
  }

  static std::string function(const std::string& what, const Claim& claim) {
    const std::string mode = claim.mode == Mode::shared ? "_shared" : "";
    if (what == "un") return "pg_advisory_unlock" + mode;
    return "pg_" + what + "advisory_lock" + mode;
  }
  // 64 bits of the hash: all that there is room for.
  static std::int64_t number_of(const session::Key& key) {
    std::uint64_t number = 0;
    for (int i = 0; i < 8; ++i) {
      number = number << 8 | static_cast<unsigned char>(key.hash[static_cast<std::size_t>(i)]);
    }
    return static_cast<std::int64_t>(number);
  }
};

std::unique_ptr<session::Recipe> make_advisory_recipe(Runtime& runtime, const Settings& settings) {
  return std::make_unique<AdvisoryRecipe>(runtime, settings);
}

Guarantees advisory_guarantees() {
  return Guarantees{
      .engine = "postgres",
      .recipe = "advisory",
      .exclusion = Exclusion::bounded_by_clocks,
      .token = TokenStrength::durable_one_node,
      .wake_up = WakeUp::push,
      .fairness = Fairness::fifo,
      .shared_mode = true,
      .permit_mode = false,
      .no_permits_because = "an advisory lock is exclusive or shared; recipe=table has them",
      .records = true,
      .notes =
          "pg_advisory_lock on a connection for each lock that is held or waited for. The lock "
          "ends with its connection: lost() tells at once when the server closes it. After "
          "a restart or a failover nobody is granted a lock for the ttl of its last grant, if that "
          "was not forgotten; with tokens=no it is granted at once."};
}

}  // namespace holdfast::internal::postgres
