// "row": SELECT … FOR UPDATE in a transaction that stays open. The token is drawn in another
// session, because a holder that dies takes the changes of its transaction with it.
#include "engines/postgres/session_recipe.h"
#include "engines/session/mark.h"

namespace holdfast::internal::postgres {

class RowRecipe final : public SessionRecipe {
 public:
  RowRecipe(Runtime& runtime, const Settings& settings) : SessionRecipe(runtime, settings, "row") {}

  // NOWAIT would be an error each time, in the server's log as well.
  session::Batch take(const session::Key& key, const Claim&) const override {
    session::Batch batch(2);
    batch[0].text = "BEGIN";
    batch[1] = {
        "WITH got AS MATERIALIZED (SELECT 1 FROM holdfast_row WHERE lock_key = $1::bytea"
        " FOR UPDATE SKIP LOCKED)"
        " SELECT CASE WHEN EXISTS (SELECT FROM got) THEN 1 ELSE 0 END, NULL,"
        " CASE WHEN EXISTS (SELECT FROM got) THEN txid_current() END"
        " FROM holdfast_row WHERE lock_key = $1::bytea",
        {key.hash}};
    batch[1].answer = session::hold_row("n");
    return batch;
  }

  session::Batch wait(const session::Key& key, const Claim& claim,
                      std::optional<Duration>) const override {
    session::Batch batch(1);
    batch[0] = {mark_of(key, claim) +
                    "SELECT 1, NULL, txid_current() FROM holdfast_row WHERE lock_key = $1::bytea"
                    " FOR UPDATE",
                {key.hash}};
    batch[0].once = true;
    batch[0].answer = session::hold_row("n");
    return batch;
  }

  session::Batch confirm(const session::Key&, const Claim&,
                         const session::Opened& session) const override {
    return session::one(std::string("SELECT CASE WHEN ") + kIsOwn +
                            " AND txid_current_if_assigned() IS NOT NULL THEN 1 ELSE 0 END, NULL",
                        own_values(session), session::hold_row());
  }
  bool errors_release() const override { return true; }  // The transaction is rolled back.

  session::Batch give(const session::Key&, const Claim&) const override {
    session::Batch batch(2);
    batch[0].text = "COMMIT";
    batch[1].text = "SELECT 1, NULL";
    batch[1].answer = session::hold_row();
    return batch;
  }
  bool busy_leaves_something() const override { return true; }
  bool draws_elsewhere() const override { return true; }

  // The next holder draws after us: if somebody has drawn since the lock was looked at, the server looks at it
  // again.
  session::Batch draw(const session::Key& key, const Claim& claim, const session::Opened& session,
                      const SqlRows& granted) const override {
    session::Batch batch(1);
    batch[0].text = drawing(key, "$5::text, xact = $6::bigint",
                            " WHERE txid_status($6::bigint) = 'in progress' AND") +
                    " RETURNING 1, t.token";
    batch[0].values = noting_values(key, claim);
    batch[0].values.emplace_back(session.peer);
    batch[0].values.emplace_back(granted.number(0, 2));
    batch[0].answer = session::hold_row();
    return batch;
  }

  session::Batch prepare(const session::Key& key) const override {
    session::Batch batch = SessionRecipe::prepare(key);
    batch.push_back(
        {"INSERT INTO holdfast_row (lock_key, name) VALUES ($1::bytea, $2::bytea)"
         " ON CONFLICT (lock_key) DO NOTHING",
         {key.hash, key.name}});
    return batch;
  }

 protected:
  // Each transaction that has a number locks that.
  std::string lock_of(const std::string& row) const override {
    return "l.locktype = 'transactionid' AND l.transactionid::text::bigint = " + row +
           ".xact % 4294967296";
  }
};

std::unique_ptr<session::Recipe> make_row_recipe(Runtime& runtime, const Settings& settings) {
  return std::make_unique<RowRecipe>(runtime, settings);
}

Guarantees row_guarantees() {
  return session::row_guarantees_of("postgres",
                                    ", in a transaction that stays open and keeps VACUUM back");
}

}  // namespace holdfast::internal::postgres
