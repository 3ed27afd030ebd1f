// Turn: a caller's turn at one lock, the one core of all lock tables: drops the dead and the expired, serves the queue,
// and says what is left for the caller. It changes the row that it is given and the rows beside it; reading, writing
// and telling the winners is the store's business.
//
// REQUIRES: for as long as it lives, nobody else changes this lock's rows.
#pragma once

#include <variant>
#include <vector>

#include "engines/table/rows.h"

namespace holdfast::internal::table {

struct Given {
  Token token;
  Duration ttl{};
};

// Somebody to tell, after the commit.
struct Wake {
  ProcessId process = 0;
  ClaimId claim;
  std::optional<Given> given;  // none: it should look again
};

// The claim is in the queue (or, without one, was refused): what is in its way.
struct InTheWay {
  Busy busy;
  std::vector<ProcessId> ahead;         // processes of others: look again when one of these dies
  std::optional<std::int64_t> expires;  // when the first of the holders ends, unless it renews
};

class Turn {
 public:
  // A grant that is handed to a waiter holds this long until the winner renews it: a winner that
  // is stopped or gone does not keep the others waiting for its whole ttl.
  static constexpr Duration kProvisionalTtl = std::chrono::seconds(1);

  // No token below `min_token` is given out. A store whose rows can be forgotten (restored from a
  // backup, say) passes its clock, so that tokens go on above what was forgotten.
  Turn(Rows& rows, LockRow& row, std::int64_t now, std::int64_t min_token = 0)
      : rows_(rows), row_(row), now_(now), min_token_(min_token) {}

  using Answer = std::variant<Given, InTheWay, Failure>;
  // `label` is what the rows shall say of the claim. A failure changes nothing.
  Answer acquire(const Claim& claim, const std::optional<std::string>& label, bool queue);

  enum class Ended { nothing, wait, hold };
  Ended release(const ClaimId& id);
  // True if there was a holder with this token.
  bool evict(Token token);
  bool waits(const ClaimId& id) const;
  // The rows of this moment, without those who are gone.
  LockInfo describe(const Name& name);

  std::vector<Wake> take_wakes() { return std::exchange(wakes_, {}); }

 private:
  void drop_ended();
  // When a hold ends. After the clock was set back, its row says much too late.
  std::int64_t end_of(std::int64_t expires, std::int64_t ttl) const;
  bool ended(std::int64_t expires, ProcessId process);
  std::optional<Given> repeated(const Claim& claim);
  // Grants to the queue's head while it can be; drops dead waiters. `self` is granted its whole
  // ttl and not told.
  std::optional<Given> serve(const ClaimId* self);
  Given grant(const WaiterRow& winner, Duration ttl);
  bool remove_holder(const ClaimId& id);
  bool remove_waiter(const ClaimId& id);
  void drop_dead_before(const ClaimId& id);
  InTheWay in_the_way_of(const ClaimId& id);

  Rows& rows_;
  LockRow& row_;
  std::int64_t now_;
  std::int64_t min_token_;
  std::vector<Wake> wakes_;
};

}  // namespace holdfast::internal::table
