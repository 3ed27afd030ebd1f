// "row": SELECT … FOR UPDATE in a transaction that stays open.
//
// The token cannot be drawn in that transaction: a holder that dies takes its changes with it, and
// the next one would draw the same number. So it is drawn in another session, after the row is
// locked, and only if it still is.
#include "engines/mysql/session_recipe.h"
#include "engines/session/mark.h"

namespace holdfast::internal::mysql {

namespace {
constexpr const char* kForEver = "100000000";  // seconds; the most that MariaDB takes
}

class RowRecipe final : public SessionRecipe {
 public:
  RowRecipe(Runtime& runtime, const Settings& settings) : SessionRecipe(runtime, settings, "row") {}

  session::Key key_of(const Name& name) const override {
    session::Key key;
    key.name = settings().prefix + name.bytes();
    key.hash = hash_of(key.name);
    return key;
  }

  session::Batch take(const session::Key& key, const Claim& claim) const override {
    session::Batch batch(3);
    batch[0].text = "DO GET_LOCK(?, 0)";  // Shows others that the claim's session lives.
    batch[0].values = {sign(key, claim)};
    batch[1].text = "BEGIN";
    batch[2].text = "SELECT 1, NULL FROM holdfast_rows WHERE lock_key = ? FOR UPDATE NOWAIT";
    batch[2].values = {key.hash};
    batch[2].answer = session::hold_row();
    return batch;
  }

  // A row that was locked may have ended the transaction (innodb_rollback_on_timeout).
  session::Batch before_wait() const override { return {{"BEGIN", {}}}; }

  session::Batch wait(const session::Key& key, const Claim& claim,
                      std::optional<Duration>) const override {
    return session::one(
        mark_of(key, claim) + "SELECT 1, NULL FROM holdfast_rows WHERE lock_key = ? FOR UPDATE",
        {key.hash}, session::hold_row());
  }
  bool wait_ends_by_itself() const override { return false; }

  session::Batch confirm(const session::Key& key, const Claim& claim,
                         const session::Opened&) const override {
    return session::one(std::string("SELECT IS_USED_LOCK(?) = CONNECTION_ID()") +
                            (is_mariadb() ? " AND @@in_transaction" : "") + ", NULL",
                        {sign(key, claim)}, session::hold_row());
  }

  session::Batch give(const session::Key& key, const Claim& claim) const override {
    session::Batch batch(2);
    batch[0].text = "COMMIT";
    batch[1].text = "SELECT RELEASE_LOCK(?), NULL";
    batch[1].values = {sign(key, claim)};
    batch[1].answer = session::hold_row();
    return batch;
  }
  bool busy_leaves_something() const override { return true; }
  bool draws_elsewhere() const override { return true; }

  session::Batch before_draw(const session::Key& key) const override {
    return session::one("SELECT 1, NULL, token FROM holdfast_tokens WHERE lock_key = ?", {key.hash},
                        session::hold_row("N"));
  }
  // If nobody has drawn since the lock was ours. The sign alone does not tell: a session that ends lets
  // its rows go before its named locks.
  session::Batch draw(const session::Key& key, const Claim& claim, const session::Opened& session,
                      const SqlRows& granted) const override {
    session::Batch batch;
    draw_into(batch, key, claim, std::to_string(session.number),
              " AND token = " + std::to_string(granted.number(0, 2)));
    return batch;
  }
  void conclude_draw(SqlOutcome& outcome) const override {
    const std::optional<std::string> token = take_token(outcome);
    outcome.results.emplace_back().rows = {{token ? "1" : "0", token}};
  }

  // Where somebody was faster, and has locked it already, the insertion would wait for that one.
  session::Batch prepare(const session::Key& key) const override {
    session::Batch batch;
    batch.push_back({"SET SESSION innodb_lock_wait_timeout = 1", {}});
    for (SqlStatement& statement : SessionRecipe::prepare(key)) {
      batch.push_back(std::move(statement));
    }
    batch.push_back(
        {"INSERT IGNORE INTO holdfast_rows (lock_key, name) SELECT ?, ? FROM DUAL "
         "WHERE NOT EXISTS (SELECT 1 FROM holdfast_rows WHERE lock_key = ?)",
         {key.hash, key.name, key.hash}});
    batch.push_back({std::string("SET SESSION innodb_lock_wait_timeout = ") + kForEver, {}});
    return batch;
  }

 protected:
  std::string sign(const session::Key&, const Claim& claim) const override {
    return "hf:row:" + claim.id.hex();
  }
  // We cancel the waiter: the server must not.
  std::string variables() const override {
    return std::string(", SESSION innodb_lock_wait_timeout = ") + kForEver;
  }
};

std::unique_ptr<session::Recipe> make_row_recipe(Runtime& runtime, const Settings& settings) {
  return std::make_unique<RowRecipe>(runtime, settings);
}

Guarantees row_guarantees() { return session::row_guarantees_of("mysql"); }

}  // namespace holdfast::internal::mysql
