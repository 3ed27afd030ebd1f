// SessionRecipe: the common part of the recipes of PostgreSQL that live in a session: connections, tokens, and what
// everybody can see.
//
//   holdfast_token     a row for each name: its last token, and who drew it
//   holdfast_shared    a row for each claim that holds in shared mode
//   holdfast_row       a row for each name of the recipe `row`: it is only there to be locked
//
// The session that drew the last token holds while it has the lock: the server knows that, and knows the session by the
// name that each of ours gives itself. So a release need not write anything.
//
// The row outlives the server's sessions. When all of them have ended at once (a restart, a crash of one
// backend, a standby that took over), a holder that was cut off still believes in its lock. So the name
// of a session ends with the life of the server that it belongs to, and no token is drawn before the ttl
// of the last grant of another life is over.
#pragma once

#include <memory>
#include <string>

#include "engines/kit/claim_bytes.h"
#include "engines/postgres/record_sql.h"
#include "engines/session/first_asked.h"
#include "engines/session/recipe.h"
#include "sql/postgres/settings.h"

namespace holdfast::internal::postgres {

// One life of one server, from when it had no sessions until it ends them all.
struct Life {
  std::string id;  // '@', four digits of server and timeline, ten that tell when it began
  std::int64_t began_us = 0;  // since 1970, on the server's clock
  session::FirstAsked asked;
};

class SessionRecipe : public session::Recipe {
 public:
  SessionRecipe(Runtime& runtime, Settings settings, std::string recipe);

  session::Key key_of(const Name& name) const override;
  const table::RecordSql& record_sql() const override { return postgres::record_sql(); }
  const std::string& prefix() const override { return settings_.prefix; }
  Task<Result<session::Opened>> connect(Deadline deadline) override;
  SqlTrouble trouble_with(const SqlError& error) const override;
  Failure failure_of(const SqlError& error) const override;
  session::Batch expire_after(Duration idle) const override;
  bool wait_ends_by_itself() const override { return false; }
  bool has_tokens() const override { return settings_.tokens; }
  session::Batch prepare(const session::Key& key) const override;
  session::Batch quarantine(const session::Key& key) override;
  session::Batch make_tables() const override;
  std::optional<Failure> no_tables() const override;
  session::Batch interrupt(const session::Opened& session) const override;
  session::Batch end_session(std::uint64_t number, const std::string& peer) const override;
  session::Batch find_session(std::uint64_t number, const std::string& peer) const override;
  session::Batch find_waiting(std::uint64_t number, const std::string& peer) const override;
  session::Batch look(const session::Key& key) const override;
  LockInfo seen(const Name& name, const SqlOutcome& outcome) const override;
  session::Batch look_at_all(const std::string& prefix) const override;
  std::vector<LockInfo> all_seen(const SqlOutcome& outcome) const override;
  session::Batch evict(const session::Key& key, Token token) const override;
  session::Batch still_held_by(const session::Key& key, std::uint64_t session) const override;

 protected:
  // A condition on pg_locks (`l`): the entry of the session that holds the lock of this row.
  virtual std::string lock_of(const std::string& row) const = 0;
  // The holders that have rows of their own, from " UNION ALL ".
  virtual std::string shared_holders() const { return ""; }
  // Whether the session that answers is this one: not another of the server's, as behind a proxy that
  // pools and gives each of them the name that its client chose. $1 and $2 are own_values().
  static constexpr const char* kIsOwn =
      "current_setting('application_name') = $1::text AND pg_backend_pid() = $2::integer";
  static std::vector<SqlValue> own_values(const session::Opened& session);
  // Draws a token and notes who holds: the session with this name, an expression. `where`: what comes
  // in front of the lock's key.
  std::string drawing(const session::Key& key, const std::string& session,
                      const std::string& where) const;
  // The next token of the row `t`, and the first.
  static std::string next_token();
  static std::string first_token();
  // Of the row `t`: whether its last grant is one of this life, which the lock itself excludes, and when
  // it is over for its holder if not.
  std::string of_this_life() const;
  std::string of_this_server() const;
  std::string over() const;
  std::string may_be_granted(const session::Key& key) const;
  const Settings& settings() const { return settings_; }

 private:
  // Those who hold, as something to select from, called `h`.
  std::string holders() const;
  std::string hash_of(const std::string& name) const;
  void meet(const SqlRows& rows);

  Runtime& runtime_;
  Settings settings_;
  std::string recipe_;
  Life life_;  // of the server that was connected to last
};

// Noted with a token: $1 the lock's key, $2 the claim, $3 its label, $4 its ttl.
std::vector<SqlValue> noting_values(const session::Key& key, const Claim& claim);

Guarantees advisory_guarantees();
Guarantees row_guarantees();

// "advisory": pg_advisory_lock.
std::unique_ptr<session::Recipe> make_advisory_recipe(Runtime& runtime, const Settings& settings);
// "row": SELECT … FOR UPDATE.
std::unique_ptr<session::Recipe> make_row_recipe(Runtime& runtime, const Settings& settings);

}  // namespace holdfast::internal::postgres
