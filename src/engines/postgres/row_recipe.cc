// "row": SELECT … FOR UPDATE in a transaction that stays open. The token is drawn in another
// session, because a holder that dies takes the changes of its transaction with it.
#include "engines/postgres/session_recipe.h"

namespace holdfast::internal::postgres {

class RowRecipe final : public SessionRecipe {
 public:
  RowRecipe(Runtime& runtime, const Settings& settings) : SessionRecipe(runtime, settings, "row") {
    guarantees_ = row_guarantees();
    if (!settings.tokens) guarantees_.token = TokenStrength::none;
  }

  session::Batch take(const session::Key& key, const Claim& claim) const override {
    session::Batch batch;
    batch.push_back({"BEGIN", {}});
    batch.push_back(sign(claim));
    batch.push_back({std::string(kSelect) + " NOWAIT", {key.hash}});
    return batch;
  }

  session::Batch wait(const session::Key& key, const Claim& claim,
                      std::optional<Duration>) const override {
    session::Batch batch;
    batch.push_back({"ROLLBACK", {}});  // of the try
    announce(key, claim, batch);
    batch.push_back({"BEGIN", {}});
    batch.push_back(sign(claim));
    batch.push_back({kSelect, {key.hash}});
    return batch;
  }

  session::Batch give(const session::Key&, const Claim& claim) const override {
    session::Batch batch;
    batch.push_back({"COMMIT", {}});
    forget(claim, batch);
    return batch;
  }
  bool busy_leaves_something() const override { return true; }
  bool draws_elsewhere() const override { return true; }

  session::Batch prepare(const session::Key& key) const override {
    session::Batch batch(1);
    batch[0] = {
        "INSERT INTO holdfast_row (lock_key, name) VALUES ($1::bytea, $2::bytea)"
        " ON CONFLICT (lock_key) DO NOTHING",
        {key.hash, key.name}};
    return batch;
  }

 private:
  static constexpr const char* kSelect =
      "SELECT 1, NULL FROM holdfast_row WHERE lock_key = $1::bytea FOR UPDATE";
};

std::unique_ptr<session::Recipe> make_row_recipe(Runtime& runtime, const Settings& settings) {
  return std::make_unique<RowRecipe>(runtime, settings);
}

Guarantees row_guarantees() {
  return Guarantees{
      .engine = "postgres",
      .recipe = "row",
      .exclusion = Exclusion::bounded_by_clocks,
      .token = TokenStrength::durable_one_node,
      .wake_up = WakeUp::push,
      .fairness = Fairness::roughly,
      .shared_mode = false,
      .permit_mode = false,
      .no_permits_because = "a row lock has one owner; recipe=table has them",
      .notes =
          "SELECT … FOR UPDATE on a connection for each lock that is held or waited for, in a "
          "transaction that stays open and keeps VACUUM back. The lock ends with its connection: "
          "lost() tells at once when the server closes it."};
}

}  // namespace holdfast::internal::postgres
