// The rows of one lock, as values, and as what is behind them in a store: SQLite reads and writes
// them one by one, a database server brings them in one answer and takes the changes in one
// request. Times are nanoseconds on the store's own clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engines/table/admission.h"
#include "holdfast/engine.h"

namespace holdfast::internal::table {

// Identifies a client in the store: whom to wake, and whose death ends what. 0: no process; such a
// hold ends by release or ttl only.
using ProcessId = std::int64_t;

// The lock itself. An exclusive holder stands in it, others have rows of their own.
struct LockRow {
  std::int64_t token = 0;        // the last that was given
  std::optional<ClaimId> owner;  // the exclusive holder
  ProcessId process = 0;
  std::int64_t since = 0;
  std::int64_t expires = 0;
  // The ttl of the last grant, where the store's clock can be set back: no hold that is seen now has more time than
  // this. 0: the clock cannot.
  std::int64_t ttl = 0;
  std::optional<std::string> label;
  // Counts of waiters and sharing holders: hints for the short ways. The rows decide.
  std::int64_t waiting = 0;
  std::uint32_t sharing = 0;
  Mode sharing_mode = Mode::exclusive;
  std::uint32_t permits = 0;

  Holders holders() const { return {owner.has_value(), sharing, sharing_mode}; }
  bool operator==(const LockRow&) const = default;
};

struct HolderRow {
  ClaimId claim;
  std::int64_t token = 0;
  ProcessId process = 0;
  std::int64_t since = 0;
  std::int64_t expires = 0;
  std::int64_t ttl = 0;  // as in LockRow
  std::optional<std::string> label;
};

struct WaiterRow {
  std::int64_t seq = 0;  // grows in the order of the queue
  ClaimId claim;
  Mode mode = Mode::exclusive;
  std::uint32_t permits = 1;
  Duration ttl{};
  ProcessId process = 0;
  bool outlives = false;
  std::int64_t since = 0;
  std::optional<std::string> label;
};

// The holders and the waiters of one lock, inside one transaction.
class Rows {
 public:
  virtual std::vector<HolderRow> holders() = 0;  // by token
  virtual std::optional<std::int64_t> token_of(const ClaimId& holder) = 0;
  virtual void add_holder(const HolderRow& holder) = 0;
  virtual bool remove_holder(const ClaimId& claim) = 0;
  virtual void set_expiry(const ClaimId& holder, std::int64_t expires, std::int64_t ttl) = 0;

  virtual std::optional<WaiterRow> head() = 0;
  virtual std::vector<WaiterRow> line() = 0;
  virtual std::optional<std::int64_t> place_of(const ClaimId& waiter) = 0;
  // At the end of the queue, whatever its seq.
  virtual void add_waiter(const WaiterRow& waiter) = 0;
  virtual void remove_waiter(std::int64_t seq) = 0;
  // Returns how many there were.
  virtual std::int64_t remove_waiters_of(ProcessId process) = 0;
  // The next waiter behind a place.
  virtual std::optional<WaiterRow> behind(std::int64_t seq) = 0;
  virtual bool permit_awaited() = 0;
  virtual std::uint64_t count_before(std::int64_t seq) = 0;
  // Of the nearest waiter before a place that is of another process than this one; 0: nobody's.
  virtual ProcessId process_before(std::int64_t seq) = 0;

  virtual ProcessId me() = 0;
  // True only if it is gone for certain.
  virtual bool gone(ProcessId process) = 0;
  // For people: whose hold it is.
  virtual std::string label_of(ProcessId process) = 0;

 protected:
  ~Rows() = default;
};

inline std::int64_t to_row(Mode mode) { return static_cast<std::int64_t>(mode); }
inline Mode mode_from(std::int64_t number) { return static_cast<Mode>(number); }
inline std::int64_t to_row(Token token) { return static_cast<std::int64_t>(token.value()); }
inline Token token_from(std::int64_t number) { return Token(static_cast<std::uint64_t>(number)); }

}  // namespace holdfast::internal::table
