// Recipe: how a lock that lives as long as a server's session is made of statements. The engine
// above decides what is asked when; a recipe knows the dialect. Batches are sent in one trip.
//
// Every batch that asks for the lock or for the claim's hold ends in a statement that returns one
// row: whether we have it (1 or not), and the token, or NULL if the batch drew none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engines/table/record_sql.h"
#include "holdfast/engine.h"
#include "sql/errors.h"

namespace holdfast::internal::session {

// One lock, in all the forms that statements need.
struct Key {
  std::string name;  // the user's bytes, with the prefix of the client
  std::string hash;  // 32 bytes, of recipe and name: the key of its rows
  std::string lock;  // what the server's own lock is called
};

// One session of the server's: a connection, and how the server knows it.
struct Opened {
  std::unique_ptr<SqlConnection> connection;
  std::uint64_t number = 0;  // of the connection at the server
  std::string peer;          // where the server sees us; with the number it is unique for ever
  int descriptor = -1;       // of the socket
};

using Batch = std::vector<SqlStatement>;

inline Batch one(std::string text, std::vector<SqlValue> values = {}, SqlShape answer = {}) {
  SqlStatement statement{std::move(text), std::move(values)};
  statement.answer = std::move(answer);
  return Batch(1, std::move(statement));
}

// Numbers of the server's as far as a Duration reaches, whatever it says.
inline Duration microseconds(std::int64_t count) {
  constexpr auto kMax = std::chrono::duration_cast<std::chrono::microseconds>(Duration::max());
  return std::chrono::microseconds(std::clamp<std::int64_t>(count, 0, kMax.count()));
}
inline Duration milliseconds(std::int64_t count) {
  constexpr std::int64_t kMax = INT64_MAX / 1000;
  return microseconds(std::clamp<std::int64_t>(count, 0, kMax) * 1000);
}

// The answer of the last statement of such a batch. `more`: columns that the recipe reads itself.
inline SqlShape hold_row(const std::string& more = "") { return row_if_any("np" + more); }

// The guarantees of a recipe: with tokens=no nobody remembers who held what before a restart.
inline Guarantees promised(Guarantees guarantees, bool tokens) {
  if (tokens) return guarantees;
  guarantees.token = TokenStrength::none;
  guarantees.exclusion = Exclusion::best_effort;
  return guarantees;
}

// Of recipe=row. `transaction`: what to know of the one that stays open.
inline Guarantees row_guarantees_of(const char* engine, const std::string& transaction = "") {
  return Guarantees{
      .engine = engine,
      .recipe = "row",
      .exclusion = Exclusion::bounded_by_clocks,
      .token = TokenStrength::durable_one_node,
      .wake_up = WakeUp::push,
      .fairness = Fairness::roughly,
      .shared_mode = false,
      .permit_mode = false,
      .no_permits_because = "a row lock has one owner; recipe=table has them",
      .records = true,
      .notes =
          "SELECT … FOR UPDATE on a connection for each lock that is held or waited for" +
          transaction +
          ". The lock ends with its connection: lost() tells at once when the server closes it. "
          "After a restart or a failover nobody is granted a lock for the ttl of its last grant, "
          "if that was not forgotten; with tokens=no it is granted at once."};
}

class Recipe {
 public:
  virtual ~Recipe() = default;

  virtual Key key_of(const Name& name) const = 0;
  // Of the table of records, and what stands in front of each name there.
  virtual const table::RecordSql& record_sql() const = 0;
  virtual const std::string& prefix() const = 0;
  virtual Task<Result<Opened>> connect(Deadline deadline) = 0;

  // busy: somebody else has the lock. interrupted: by interrupt(), and the lock may or may not be held.
  virtual SqlTrouble trouble_with(const SqlError& error) const = 0;
  virtual Failure failure_of(const SqlError& error) const = 0;

  // Lets the server end the session when nothing was said for so long.
  virtual Batch expire_after(Duration idle) const = 0;
  // Takes the lock if it is free.
  virtual Batch take(const Key& key, const Claim& claim) const = 0;
  // Waits for it in the server, at most for `limit` if there is one. After take() found it busy. What
  // makes the answer must come after the grant, and the server's idle time must count from there.
  virtual Batch wait(const Key& key, const Claim& claim, std::optional<Duration> limit) const = 0;
  // Sent before wait(), in a request of its own: MariaDB forgets the rest of a request that is interrupted between two
  // statements, and says nothing. May be empty.
  virtual Batch before_wait() const { return {}; }
  // Whether the server ends wait() by itself at its limit.
  virtual bool wait_ends_by_itself() const = 0;
  // Whether we still have it, in this session.
  virtual Batch confirm(const Key& key, const Claim& claim, const Opened& session) const = 0;
  // Whether the lock is gone when a statement of its session fails.
  virtual bool errors_release() const { return false; }
  // Gives it back; also what is left of a take() or wait() that failed. Its last row tells whether
  // we had it.
  virtual Batch give(const Key& key, const Claim& claim) const = 0;
  // Whether take() leaves something to be given back when it finds the lock busy.
  virtual bool busy_leaves_something() const = 0;

  virtual bool has_tokens() const = 0;
  // Whether the token cannot be drawn by the session that has the lock.
  virtual bool draws_elsewhere() const { return false; }
  // Asked before that in the session that has the lock, with a row as of take(). A request of its own, as
  // before_wait(). May be empty.
  virtual Batch before_draw(const Key&) const { return {}; }
  // Draws it there for the claim, which got the lock in this session, with this answer: if the session
  // has the lock at a moment after which nobody else draws a lower one.
  virtual Batch draw(const Key&, const Claim&, const Opened& /*session*/,
                     const SqlRows& /*granted*/) const {
    return {};
  }
  // Where an answer to take() or wait(), or to draw(), is no such row: makes one of it.
  virtual void conclude(SqlOutcome&) const {}
  virtual void conclude_draw(SqlOutcome&) const {}

  // The rows of the lock, if they are missing. Empty if there are none.
  virtual Batch prepare(const Key&) const { return {}; }
  virtual Batch make_tables() const = 0;
  // How long nobody may be granted the lock, in microseconds, in one row; 0 or no row: it may be granted.
  // The server that granted it last has begun anew since, or another has taken its place. All sessions
  // ended then, but a holder that was cut off does not know, and believes in the lock for up to its ttl.
  // draw() and the like draw no token until that is over.
  virtual Batch quarantine(const Key&) { return {}; }
  // Why the tables are not made by us; nothing if they may be.
  virtual std::optional<Failure> no_tables() const = 0;

  // Removes what sessions left behind that ended so long ago. Empty if nothing is left.
  virtual Batch clean(Duration) const { return {}; }

  // Ends the statement that runs in a session, or the session.
  virtual Batch interrupt(const Opened& session) const = 0;
  virtual Batch end_session(std::uint64_t number, const std::string& peer) const = 0;
  // One row if the session is still there.
  virtual Batch find_session(std::uint64_t number, const std::string& peer) const = 0;
  // One row while a statement runs in that session.
  virtual Batch find_waiting(std::uint64_t number, const std::string& peer) const = 0;

  // For people: holders and waiters.
  virtual Batch look(const Key& key) const = 0;
  virtual LockInfo seen(const Name& name, const SqlOutcome& outcome) const = 0;
  virtual Batch look_at_all(const std::string& prefix) const = 0;
  virtual std::vector<LockInfo> all_seen(const SqlOutcome& outcome) const = 0;
  // Ends the session that holds with this token. Its row: the number of the session, NULL if there
  // is none.
  virtual Batch evict(const Key& key, Token token) const = 0;
  // One row while that session still holds.
  virtual Batch still_held_by(const Key& key, std::uint64_t session) const = 0;
};

}  // namespace holdfast::internal::session
