// LockTable: the locks as rows, and every change to them as one transaction. Synchronous; throws
// sqlite::Error. It decides who holds; telling the winners is the engine's business.
//
// An uncontended acquire is one UPDATE, and so is its release. Everything else goes the long way,
// which all lock tables share (engines/table/turn.h): load the row, take a turn, and write back.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "engines/sqlite/liveness.h"
#include "engines/sqlite/schema.h"
#include "engines/table/turn.h"
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
            Prepared prepared, std::string label);
  ~LockTable();

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
  struct Statements;
  class RowsOf;

  std::optional<Grant> acquire_at_once(const Claim& claim);
  Answer acquire_in_turn(const Claim& claim, bool queue);
  bool release_in_turn(const Claim& claim);
  void register_process();
  // The lowest token that may be given out now.
  std::int64_t min_token() const;
  // The label that the rows need for a claim of this client; nothing if the process' own label says it.
  std::optional<std::string> label_for(const Claim& claim) const;
  bool names_itself(const Claim& claim) const;
  Waiting waiting_for(const Claim& claim, table::InTheWay found, BootTime now);
  void keep_wakes(table::Turn& turn, BootTime now);

  std::optional<Row> find(const Name& name);
  Row load(const Name& name);
  void forget_idle_names(std::int64_t before);
  void save(const Row& row);
  LockInfo describe(const Name& name);
  const ProcessInfo& process_info(ProcessId process);
  std::string process_label(ProcessId process);

  Runtime& runtime_;
  sqlite::Database& database_;
  const Liveness& liveness_;
  const Prepared prepared_;
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
