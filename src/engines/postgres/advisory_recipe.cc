// "advisory": pg_advisory_lock, which lives as long as its session.
#include "engines/postgres/session_recipe.h"

namespace holdfast::internal::postgres {

class AdvisoryRecipe final : public SessionRecipe {
 public:
  AdvisoryRecipe(Runtime& runtime, const Settings& settings)
      : SessionRecipe(runtime, settings, "advisory") {
    guarantees_ = Guarantees{
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

  // The token is drawn after the lock is ours: the MATERIALIZED expression is computed first, and
  // what is inserted comes from it.
  session::Batch take(const session::Key& key, const Claim& claim) const override {
    session::Batch batch(2);
    batch[0] = sign(claim);
    batch[1].text = std::string("WITH got AS MATERIALIZED (SELECT ") + function("try_", claim) +
                    "($7::bigint) AS ok), " +
                    drawing_sql(" FROM got WHERE ok", "current_setting('application_name')") +
                    " SELECT CASE WHEN ok THEN 1 ELSE 0 END, (SELECT token FROM drawn) FROM got";
    batch[1].values = drawing_values(key, claim);
    batch[1].values.emplace_back(number_of(key));
    return batch;
  }

  session::Batch wait(const session::Key& key, const Claim& claim,
                      std::optional<Duration>) const override {
    session::Batch batch;
    announce(key, claim, batch);
    batch.push_back({"SELECT " + function("", claim) + "($1::bigint)", {number_of(key)}});
    batch.push_back({"SELECT 1, NULL", {}});
    return batch;
  }

  session::Batch give(const session::Key& key, const Claim& claim) const override {
    session::Batch batch;
    batch.push_back({"SELECT " + function("un", claim) + "($1::bigint)", {number_of(key)}});
    forget(claim, batch);
    return batch;
  }
  bool busy_leaves_something() const override { return true; }  // the sign
  bool draws_elsewhere() const override { return false; }

 private:
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

}  // namespace holdfast::internal::postgres
