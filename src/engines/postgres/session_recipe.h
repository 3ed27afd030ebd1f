// What the recipes of PostgreSQL that live in a session have in common: connections, tokens, and
// what everybody can see.
//
//   holdfast_token     a row for each name: its last token
//   holdfast_session   a row for each claim that holds or waits
//   holdfast_row       a row for each name of the recipe `row`: it is only there to be locked
//
// A row in holdfast_session counts while its session lives: the server shows that by the name that
// each of our sessions gives itself.
#pragma once

#include <memory>
#include <string>

#include "engines/postgres/settings.h"
#include "engines/session/recipe.h"

namespace holdfast::internal::postgres {

class SessionRecipe : public session::Recipe {
 public:
  SessionRecipe(Runtime& runtime, Settings settings, std::string recipe);

  const Guarantees& guarantees() const override { return guarantees_; }
  std::size_t prefix_size() const override { return settings_.prefix.size(); }
  session::Key key_of(const Name& name) const override;
  Task<Result<session::Opened>> connect(Deadline deadline) override;
  session::Trouble trouble_with(const SqlError& error) const override;
  Failure failure_of(const SqlError& error) const override;
  session::Batch expire_after(Duration idle) const override;
  session::Batch confirm(const session::Key& key, const Claim& claim) const override;
  bool wait_ends_by_itself() const override { return false; }
  bool has_tokens() const override { return settings_.tokens; }
  session::Batch draw(const session::Key& key, const Claim& claim,
                      std::uint64_t session) const override;
  session::Batch make_tables() const override;
  session::Batch clean(Duration long_dead) const override;
  std::optional<Failure> no_tables() const override;
  session::Batch interrupt(const session::Opened& session) const override;
  session::Batch end_session(std::uint64_t number, const std::string& peer) const override;
  session::Batch find_session(std::uint64_t number, const std::string& peer) const override;
  session::Batch look(const session::Key& key) const override;
  LockInfo seen(const Name& name, const SqlOutcome& outcome) const override;
  session::Batch look_at_all(const std::string& prefix) const override;
  std::vector<LockInfo> all_seen(const SqlOutcome& outcome) const override;
  session::Batch evict(const session::Key& key, Token token) const override;
  session::Batch still_held_by(const session::Key& key, std::uint64_t session) const override;

 protected:
  // Says in the session itself whose it is; confirm() asks for that.
  static SqlStatement sign(const Claim& claim);
  // The same as a column of something else. `claim`: a parameter that is its id in hexadecimal digits.
  static std::string signing(const std::string& claim) {
    return "set_config('holdfast.claim', " + claim + "::text, false)";
  }
  // Forgets the claim's row and the sign; its row tells whether it was signed.
  void forget(const Claim& claim, session::Batch& batch) const;
  // Shows others that the claim waits, before it does.
  void announce(const session::Key& key, const Claim& claim, session::Batch& batch) const;
  const Settings& settings() const { return settings_; }

  Guarantees guarantees_;

 private:
  Failure failed(Code code, const std::string& why) const;
  std::string hash_of(const std::string& name) const;

  Runtime& runtime_;
  Settings settings_;
  std::string recipe_;
};

// Claim ids travel as their 16 bytes.
std::string bytes_of(const ClaimId& id);

// The values that drawing_sql() wants.
std::vector<SqlValue> drawing_values(const session::Key& key, const Claim& claim);
// Draws a token and notes who has it: common table expressions `drawn` and `noted`. `from` is where
// the row that is to be inserted comes from, `session` the name of the session.
std::string drawing_sql(const std::string& from, const std::string& session);

// What makes the tables of these recipes: a schema of their own as well, if the URL names one.
std::vector<std::string> session_schema(const Settings& settings);

Guarantees advisory_guarantees();
Guarantees row_guarantees();

// "advisory": pg_advisory_lock.
std::unique_ptr<session::Recipe> make_advisory_recipe(Runtime& runtime, const Settings& settings);
// "row": SELECT … FOR UPDATE.
std::unique_ptr<session::Recipe> make_row_recipe(Runtime& runtime, const Settings& settings);

}  // namespace holdfast::internal::postgres
