// LockTable: locks as rows at a database server, as the engine above uses them. It decides who holds; waiting is
// the engine's business. Inside the loop only.
#pragma once

#include <span>

#include "engines/table/connection_pool.h"
#include "engines/table/key.h"
#include "engines/table/record_table.h"
#include "engines/table/waking.h"

namespace holdfast::internal::table {

// How a claim that does not hold stands in the table.
struct Standing {
  InTheWay in_the_way;
  bool waits = false;          // it stands in the queue
  bool holds = false;          // after a look: it was granted the lock meanwhile
  bool turn_may_help = false;  // a hold has expired, or the claim is not where it was
  // After a turn: the last token that had been given. Later grants to the claim have higher ones.
  Token last_token;
};

struct Taken {
  std::optional<Given> given;
  Standing standing;     // if it was not given
  bool in_turn = false;  // the row was ours alone when this was found
  BootTime sent_at;      // of the first request: before anything was granted
};

// The answer of a turn. A failure: nothing was changed.
inline Result<Taken> taken_from(Turn::Answer answer, bool queue) {
  if (const Failure* refused = std::get_if<Failure>(&answer)) return *refused;
  Taken taken;
  if (const Given* given = std::get_if<Given>(&answer)) {
    taken.given = *given;
  } else {
    taken.standing.in_the_way = std::move(std::get<InTheWay>(answer));
    taken.standing.waits = queue;
  }
  return taken;
}

class LockTable {
 public:
  virtual ~LockTable() = default;

  virtual Waking& waking() = 0;

  // Nothing given: it is not free, or others wait. For exclusive claims.
  virtual Task<Result<Taken>> take(const Claim& claim, Deadline deadline, std::stop_token stop) = 0;
  // The long way: in turn, and with `queue` into the queue.
  virtual Task<Result<Taken>> acquire(const Claim& claim, bool queue, Deadline deadline,
                                      std::stop_token stop) = 0;
  virtual Task<Result<Taken>> look(const Claim& claim, Deadline deadline, std::stop_token stop) = 0;
  // True if it held. A claim that is likely to wait still (`holds` is false) skips the short ways of holders.
  // `urgency`: only a holder's own release may use the connection that is kept for releases.
  using Urgency = ConnectionPool::Urgency;
  virtual Task<Result<bool>> release(const Claim& claim, Deadline deadline, bool holds,
                                     Urgency urgency) = 0;
  virtual Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds,
                                                 Deadline deadline) = 0;
  // True if there was a holder with this token.
  virtual Task<Result<bool>> evict(const Name& name, Token token, Deadline deadline) = 0;
  virtual Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) = 0;
  virtual Task<Result<std::vector<LockInfo>>> list(const std::string& prefix,
                                                   Deadline deadline) = 0;
  virtual RecordTable& records() = 0;
  virtual Key key_of(const Name& name) const = 0;
  virtual void stop() = 0;
};

}  // namespace holdfast::internal::table
