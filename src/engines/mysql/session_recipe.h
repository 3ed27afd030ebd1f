// SessionRecipe: the common part of the recipes of MySQL that live in a session: connections, tokens, and what
// everybody can see.
//
//   holdfast_tokens   a row for each name: its last token, and who has (or last had) the lock
//   holdfast_rows     a row for each name of the recipe `row`: it is only there to be locked
//
// The holder has Key::lock (named) or the claim's own named lock (row): the row in holdfast_tokens says who that was,
// the server knows whether it still is. Waiters are in the server's process list: the comment in front of the waiting
// statement says whose it is.
//
// The row outlives the server, the lock does not. After a restart, or when a replica has taken over, a
// holder that was cut off still believes in its lock: lock_name ends with '#' and three bytes that tell
// which server granted it, `since` tells when, and no token is drawn before the ttl of that grant is over.
#pragma once

#include <string>

#include "engines/kit/claim_bytes.h"
#include "engines/mysql/record_sql.h"
#include "engines/session/first_asked.h"
#include "engines/session/recipe.h"
#include "sql/mysql/settings.h"

namespace holdfast::internal::mysql {

// One life of one server, in which it keeps its locks.
struct Life {
  std::string server;         // '#' and three bytes
  std::int64_t began_us = 0;  // since 1970, on the server's clock; all its grants are later
  std::string number;         // in SQL; what stands above the numbers of its connections
  session::FirstAsked asked;
};

class SessionRecipe : public session::Recipe {
 public:
  SessionRecipe(Runtime& runtime, Settings settings, std::string recipe);

  const table::RecordSql& record_sql() const override { return mysql::record_sql(); }
  const std::string& prefix() const override { return settings_.prefix; }
  Task<Result<session::Opened>> connect(Deadline deadline) override;
  SqlTrouble trouble_with(const SqlError& error) const override;
  Failure failure_of(const SqlError& error) const override;
  session::Batch expire_after(Duration idle) const override;
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
  // How the named lock is called that the holder has: as text, and of the row in holdfast_tokens.
  virtual std::string sign(const session::Key& key, const Claim& claim) const = 0;
  // Session variables beside the usual ones, from ", ".
  virtual std::string variables() const { return ""; }
  std::string hash_of(const std::string& name) const;
  // Draws a token, and notes who has it: the session with this number, an expression, if it has the
  // named lock. `condition`: another one, from " AND ".
  void draw_into(session::Batch& batch, const session::Key& key, const Claim& claim,
                 const std::string& session, const std::string& condition = "") const;
  // The token in the answer to that, if one was drawn. What answered it is taken off the results.
  std::optional<std::string> take_token(SqlOutcome& outcome) const;
  const Settings& settings() const { return settings_; }
  bool is_mariadb() const { return is_mariadb_; }

 private:
  // Notes whose answers these are; returns how long to wait until its grants can be told from those
  // of its previous life.
  Duration meet(const SqlRows& rows);
  // Conditions on the row of the lock: the last grant is excluded by the lock itself; it was made by this
  // server, or by an earlier version; when it is over, on this server's clock; the next may be made.
  std::string of_this_life() const;
  std::string of_this_server() const;
  std::string over() const;
  std::string may_be_granted(const session::Key& key) const;

  Runtime& runtime_;
  Settings settings_;
  std::string recipe_;
  bool is_mariadb_ = true;  // until we know
  Life life_;               // of the server that was connected to last
  // The answer to an UPDATE has what it gave to LAST_INSERT_ID, but for tables that have triggers.
  mutable bool asks_for_token_ = false;
};

// "named": GET_LOCK.
std::unique_ptr<session::Recipe> make_named_recipe(Runtime& runtime, const Settings& settings);
// "row": SELECT … FOR UPDATE.
std::unique_ptr<session::Recipe> make_row_recipe(Runtime& runtime, const Settings& settings);

Guarantees named_guarantees();
Guarantees row_guarantees();

}  // namespace holdfast::internal::mysql
