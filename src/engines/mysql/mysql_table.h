// MysqlTable: each lock as one row of a MySQL or MariaDB server, and each change to it as one statement. To take, to
// queue up, to release and to hand over an exclusive lock, the statement decides by itself. Whatever is less simple
// is a turn: the row is read, decided on here, and written back if it is still the same, else once more from the
// beginning. Inside the loop only.
//
// How each step can break, and what keeps it from that:
//   any statement   it was executed or it was not. If its answer is lost, the claim's id finds the same row
//                   again: the same token, no second hold.
//   a stop between reading and writing   nothing is locked meanwhile; a row that was changed is not overwritten
//   time            what has expired is decided by the server's clock alone. What a client believes is counted from
//                   before it sent the first request, on its own clock.
//   renewals        have connections of their own; see RenewalRequests.
#pragma once

#include <unordered_set>

#include "engines/mysql/name_chain.h"
#include "engines/mysql/table_database.h"
#include "engines/mysql/table_sql.h"
#include "engines/table/lock_table.h"
#include "engines/table/record_table.h"
#include "engines/table/renewal_requests.h"

namespace holdfast::internal::mysql {

class MysqlTable final : public table::LockTable {
 public:
  MysqlTable(Runtime& runtime, Settings settings);

  table::Waking& waking() override { return chain_; }
  Task<Result<table::Taken>> take(const Claim& claim, Deadline deadline,
                                  std::stop_token stop) override;
  Task<Result<table::Taken>> acquire(const Claim& claim, bool queue, Deadline deadline,
                                     std::stop_token stop) override;
  Task<Result<table::Taken>> look(const Claim& claim, Deadline deadline,
                                  std::stop_token stop) override;
  Task<Result<bool>> release(const Claim& claim, Deadline deadline, bool holds,
                             Urgency urgency) override;
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline) override {
    return renewing_.renew(holds, deadline);
  }
  Task<Result<bool>> evict(const Name& name, Token token, Deadline deadline) override;
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override;
  Task<Result<std::vector<LockInfo>>> list(const std::string& prefix, Deadline deadline) override;
  table::RecordTable& records() override { return records_; }
  table::Key key_of(const Name& name) const override;
  void stop() override;

 private:
  using Asked = table::Requests::Asked;
  // How a caller asks: until when, and how urgently.
  struct Call {
    Deadline deadline;
    std::stop_token stop;
    Urgency urgency = Urgency::usual;
  };
  Task<Result<Asked>> ask(std::vector<SqlStatement> statements, const Call& call);

  struct Turned {
    bool found = false;
    bool repeated = false;  // it may have been written once before
    BootTime sent_at;       // of the first request
    Token last_token;
    std::uint64_t version = 0;  // of the row, if it was changed
  };
  // False: nothing shall be changed.
  using Decide = std::function<bool(table::Turn&)>;
  // `make`: a row that is missing is made.
  Task<Result<Turned>> take_turn(table::Key key, bool make, Decide decide, Call call);
  // Tells waiters of this client what they were granted in a turn on the row that was read then.
  void wake(table::Turn& turn, BootTime read_at);
  Task<Result<table::Taken>> queue_up(const Claim& claim, Call call);
  // The request that queues it up, and takes its name.
  Task<Result<SqlOutcome>> send_queueing(const Claim& claim, const table::Key& key,
                                         const Call& call);
  Task<Result<table::Taken>> acquire_in_turn(const Claim& claim, bool queue, Call call);
  // False: it takes a turn. `repeated`: it may have been released by a request that got no answer.
  Task<Result<bool>> release_owner(const Claim& claim, const table::Key& key, bool& repeated,
                                   Call call);
  using Outcomes = table::RenewalRequests::Outcomes;
  Task<bool> renew_some(std::span<const Hold> holds, Outcomes outcomes, Deadline deadline);
  // Holds that are renewed by one statement: exclusive ones of the same ttl, or a single other one.
  struct Group {
    std::vector<std::size_t> members;  // their places among the holds
    std::vector<Renewal> renewals;     // the same for the statement
  };
  std::vector<Group> groups_of(std::span<const Hold> holds) const;
  // The outcomes of a group of which some are lost.
  Task<void> find_lost(const Group& group, std::span<const Hold> holds, BootTime sent_at,
                       Outcomes outcomes, Deadline deadline);
  // Holders that are waited for take their names, so that the next one need not look.
  Task<void> take_names(std::vector<Renewal> renewals, std::unordered_set<ClaimId> ours);

  Runtime& runtime_;
  std::string prefix_;
  TableDatabase database_;
  table::RecordTable records_;
  NameChain chain_;
  table::RenewalRequests renewing_;
  // Claims of ours that have queued, until they are released.
  std::unordered_set<ClaimId> queued_;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal::mysql
