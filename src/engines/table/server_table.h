// ServerTable: the locks as rows at a database server, and every change to them as one transaction.
// It decides who holds; waiting is the engine's business. Inside the loop only.
//
// How each step can break, and what keeps it from that:
//   take, free  one statement: it was executed or it was not. If its answer is lost, the claim's
//               id finds the same row again: the same token, no second hold.
//   turn        the row is locked, read, and written back with its commit: two round trips. A client
//               that is stopped in between is rolled back by the server's own timeout. An answer
//               is believed only when the commit was answered.
//   time        what has expired is decided by the server's clock alone, read after the row was
//               locked. What a client believes is counted from before it sent, on its own clock.
//   renewals    have connections of their own; see RenewalRequests.
#pragma once

#include <unordered_set>

#include "engines/table/lock_table.h"
#include "engines/table/record_requests.h"
#include "engines/table/renewal_requests.h"
#include "engines/table/row_moves.h"
#include "engines/table/table_server.h"

namespace holdfast::internal::table {

class ServerTable final : public LockTable {
 public:
  ServerTable(Runtime& runtime, std::unique_ptr<TableServer> server, std::string prefix,
              Duration request_timeout)
      : runtime_(runtime),
        owned_(std::move(server)),
        server_(*owned_),
        prefix_(std::move(prefix)),
        requests_(runtime, server_, request_timeout),
        records_(runtime, server_.record_sql(), prefix_,
                 record_requests(runtime, server_.connections(), server_, request_timeout)),
        renewing_(runtime, 100,
                  [this](std::span<const Hold> holds, RenewalRequests::Outcomes outcomes,
                         Deadline deadline) { return renew_together(holds, outcomes, deadline); }),
        background_(runtime) {}

  Waking& waking() override { return server_; }
  Task<Result<Taken>> take(const Claim& claim, Deadline deadline, std::stop_token stop) override;
  Task<Result<Taken>> acquire(const Claim& claim, bool queue, Deadline deadline,
                              std::stop_token stop) override;
  Task<Result<Taken>> look(const Claim& claim, Deadline deadline, std::stop_token stop) override;
  Task<Result<bool>> release(const Claim& claim, Deadline deadline, bool holds,
                             Urgency urgency) override;
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline) override {
    return renewing_.renew(holds, deadline);
  }
  Task<Result<bool>> evict(const Name& name, Token token, Deadline deadline) override;
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override;
  Task<Result<std::vector<LockInfo>>> list(const std::string& prefix, Deadline deadline) override;
  RecordTable& records() override { return records_; }
  Key key_of(const Name& name) const override { return Key(prefix_ + name.bytes()); }
  void stop() override { background_.stop(); }

 private:
  struct Turned {
    bool found = false;
    bool repeated = false;  // it may have been committed once before
    BootTime sent_at;
    Token last_token;
  };
  // False: nothing shall be changed.
  using Decide = std::function<bool(Turn&)>;

  // Queues up behind an exclusive holder by one request; nothing if that takes a turn.
  Task<Result<std::optional<Taken>>> enqueue(const Claim& claim, const Key& key, Deadline deadline,
                                             std::stop_token stop);
  // The short ways to release: see queue_policy.h. False: nothing was changed.
  Task<Result<bool>> release_by(SqlStatement statement, bool& repeated, Deadline deadline,
                                Urgency urgency);
  // If the one that has it now is of this client: the server does not wake those.
  void tell_own(const SqlRows& winner);
  // Something was executed of which the answer was lost, perhaps a hand-over to one of ours, which the
  // server tells nobody.
  void let_own_look();
  using Asked = Requests::Asked;
  Task<Result<Asked>> ask(std::vector<SqlStatement> statements, Deadline deadline,
                          std::stop_token stop = {}, Urgency urgency = Urgency::usual);
  Task<bool> renew_together(std::span<const Hold> holds, RenewalRequests::Outcomes outcomes,
                            Deadline deadline);
  Task<Result<Turned>> take_turn(Key key, ClaimId claim, bool make, Decide decide,
                                 Deadline deadline, std::stop_token stop, Urgency urgency);
  Task<Result<std::optional<Turned>>> try_turn(const Key& key, const ClaimId& claim, bool make,
                                               const Decide& decide, std::int64_t& line,
                                               bool& repeated, Deadline deadline,
                                               std::stop_token stop, Urgency urgency);
  // The request that ends the turn.
  struct Ending {
    std::vector<SqlStatement> statements;
    bool changes = false;
    std::vector<Wake> at_home;  // to be told without the server
  };
  Ending ending_of(Turn& turn, const ServerRows& rows, bool agreed);
  Task<Result<std::vector<LockInfo>>> describe(std::vector<Name> names, Deadline deadline);
  void clean_in_time();
  Task<void> clean();

  Runtime& runtime_;
  std::unique_ptr<TableServer> owned_;
  TableServer& server_;
  std::string prefix_;
  Requests requests_;
  RecordTable records_;
  RenewalRequests renewing_;
  // Claims of ours that have queued, until they are released. Others are likely to queue behind.
  std::unordered_set<ClaimId> queued_;
  RowMoves moves_;
  std::optional<BootTime> clean_at_;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal::table
