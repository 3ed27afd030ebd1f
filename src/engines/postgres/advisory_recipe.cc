// "advisory": pg_advisory_lock, which lives as long as its session.
#include "engines/postgres/session_recipe.h"

namespace holdfast::internal::postgres {

class AdvisoryRecipe final : public SessionRecipe {
 public:
  AdvisoryRecipe(Runtime& runtime, const Settings& settings)
      : SessionRecipe(runtime, settings, "advisory") {
    guarantees_ = advisory_guarantees();
    if (!settings.tokens) guarantees_.token = TokenStrength::none;
  }

  // The token is drawn after the lock is ours: the MATERIALIZED expression is computed first, and
  // what is inserted comes from it.
  session::Batch take(const session::Key& key, const Claim& claim) const override {
    session::Batch batch(1);
    if (!settings().tokens) {
      batch[0].text = "SELECT CASE WHEN " + function("try_", claim) +
                      "($1::bigint) THEN 1 ELSE 0 END, NULL, " + signing("$2");
      batch[0].values = {number_of(key), claim.id.hex()};
      return batch;
    }
    batch[0].text = "WITH got AS MATERIALIZED (SELECT " + function("try_", claim) +
                    "($7::bigint) AS ok), " + drawing_sql(" FROM got WHERE ok", kOwnSession) +
                    " SELECT CASE WHEN ok THEN 1 ELSE 0 END, (SELECT token FROM drawn), " +
                    signing("$8") + " FROM got";
    batch[0].values = drawing_values(key, claim);
    batch[0].values.emplace_back(number_of(key));
    batch[0].values.emplace_back(claim.id.hex());
    return batch;
  }

  // After take(), which has signed.
  session::Batch wait(const session::Key& key, const Claim& claim,
                      std::optional<Duration>) const override {
    session::Batch batch;
    announce(key, claim, batch);
    batch.push_back({"SELECT " + function("", claim) + "($1::bigint)", {number_of(key)}});
    if (settings().tokens) {
      batch.push_back({"WITH " + drawing_sql("", kOwnSession) + " SELECT 1, token FROM drawn",
                       drawing_values(key, claim)});
    } else {
      batch.push_back({"SELECT 1, NULL", {}});
    }
    return batch;
  }

  session::Batch give(const session::Key& key, const Claim& claim) const override {
    session::Batch batch(1);
    batch[0].text = "SELECT CASE WHEN " + function("un", claim) +
                    "($1::bigint) THEN 1 ELSE 0 END, " + signing("''");
    batch[0].values = {number_of(key)};
    if (settings().tokens) {
      batch[0].text =
          "WITH gone AS (DELETE FROM holdfast_session WHERE claim = $2::bytea) " + batch[0].text;
      batch[0].values.emplace_back(bytes_of(claim.id));
    }
    return batch;
  }

  // Without tokens there are no tables, but the server knows its locks.
  session::Batch look(const session::Key& key) const override {
    if (settings().tokens) return SessionRecipe::look(key);
    session::Batch batch(1);
    batch[0] = {
        "SELECT CASE WHEN l.granted THEN 1 ELSE 0 END, CASE l.mode WHEN 'ShareLock' THEN 1 ELSE 0 "
        "END, a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
        " JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()"
        " WHERE l.locktype = 'advisory' AND l.objsubid = 1"
        " AND (l.classid::bigint << 32 | l.objid::bigint) = $1::bigint"
        " ORDER BY l.waitstart",
        {number_of(key)}};
    return batch;
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

  bool busy_leaves_something() const override { return true; }  // the sign
  bool draws_elsewhere() const override { return false; }

 private:
  static constexpr const char* kOwnSession = "current_setting('application_name')";

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
      .notes =
          "pg_advisory_lock on a connection for each lock that is held or waited for. The lock "
          "ends with its connection: lost() tells at once when the server closes it. Locks are "
          "per server: after a fail-over the new one knows nothing of them."};
}

}  // namespace holdfast::internal::postgres
