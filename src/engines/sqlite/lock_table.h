// LockTable: the locks as rows, and every change to them as one transaction. Synchronous; throws
// sqlite::Error. It decides who holds; telling the winners is the engine's business.
//
// An uncontended acquire is one UPDATE, and so is its release. Everything else goes the long way:
// load the row, drop who is dead or expired, serve the queue, and write back.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "engines/sqlite/liveness.h"
#include "engines/table/admission.h"
#include "holdfast/engine.h"
#include "wire/sqlite.h"

namespace holdfast::internal {

// Somebody to tell, after the commit.
struct Wake {
  ProcessId process = 0;
  ClaimId claim;
  std::optional<Grant> grant;  // none: it should look again
};

// How a process can be watched for its death.
struct ProcessInfo {
  ProcessMark mark;
  std::int64_t pid = 0;
  std::int64_t started = 0;    // the kernel's start time of the process
  std::int64_t pid_space = 0;  // the pid namespace in which `pid` means something
};

// The claim is in the queue (or, without one, was refused): what is in its way.
struct Waiting {
  Busy busy;
  std::vector<ProcessInfo> ahead;  // look again when one of these dies
  BootTime look_at;                // and then at the latest
};

using Answer = std::variant<Grant, Waiting, Failure>;

class LockTable {
 public:
  LockTable(Runtime& runtime, sqlite::Database& database, const Liveness& liveness,
            std::string label);
  ~LockTable();

  // A grant that is handed to a waiter holds this long until the winner renews it: a winner that
  // is stopped or gone does not keep the others waiting for its whole ttl.
  static constexpr Duration kProvisionalTtl = std::chrono::seconds(1);

  Answer acquire(const Claim& claim, bool queue);
  // The same for a claim that is in the queue already; writes only what has changed.
  Answer look(const Claim& claim) { return acquire_in_turn(claim, true); }
  // True if it held.
  bool release(const Claim& claim);
  // One per hold; nothing where the hold is gone.
  std::vector<std::optional<Grant>> renew(std::span<const Hold> holds);
  bool detach(const Hold& hold);
  bool evict(const Name& name, Token token);
  std::vector<LockInfo> list(const std::string& prefix);
  LockInfo inspect(const Name& name);

  // Processes that were found dead, to be cleaned up after.
  std::vector<ProcessId> take_dead() { return std::exchange(dead_, {}); }
  // Whom to tell of what the last call changed.
  std::vector<Wake> take_wakes() { return std::exchange(wakes_, {}); }

  // Removes this client's row; its claims must be released before.
  void forget_process();

 private:
  struct Row;
  struct Queued;
  struct Statements;

  std::optional<Grant> acquire_at_once(const Claim& claim);
  Answer acquire_in_turn(const Claim& claim, bool queue);
  bool release_in_turn(const Claim& claim);
  void register_process();

  std::optional<Row> find(const Name& name);
  Row load(const Name& name);
  void forget_idle_names(std::int64_t before);
  void save(const Row& row);
  void drop_ended(Row& row, BootTime now);
  bool ended(std::int64_t expires, ProcessId process, BootTime now);
  bool gone(ProcessId process);
  const ProcessInfo& process_info(ProcessId process);
  std::string process_label(ProcessId process);

  // Grants to the queue's head while it can be; drops dead waiters. `self` is granted its whole
  // ttl and not told.
  std::optional<Grant> serve(Row& row, const ClaimId* self, BootTime now);
  std::optional<Queued> head(const Row& row);
  Grant grant(Row& row, const Queued& winner, Duration ttl, BootTime now);
  std::optional<Grant> repeated(Row& row, const Claim& claim, BootTime now);
  bool remove_holder(Row& row, const ClaimId& id);
  bool remove_waiter(Row& row, const ClaimId& id);
  // Where a claim of ours stands in the queue, if it still does.
  std::optional<std::int64_t> place_of(const Row& row, const ClaimId& id);
  void enqueue(Row& row, const Claim& claim, BootTime now);
  void drop_dead_before(Row& row, const ClaimId& id);
  Waiting waiting_for(const Row& row, const Claim& claim, BootTime now);
  LockInfo describe(const Name& name);

  Runtime& runtime_;
  sqlite::Database& database_;
  const Liveness& liveness_;
  std::string label_;
  bool registered_ = false;
  std::vector<Wake> wakes_;
  std::vector<ProcessId> dead_;
  // Claims of ours that have queued, until they are released. Others are likely to queue behind.
  std::unordered_map<ClaimId, std::int64_t> places_;
  std::unordered_map<ProcessId, ProcessInfo> known_processes_;  // A process's facts never change.
  std::unique_ptr<Statements> sql_;
};

}  // namespace holdfast::internal
