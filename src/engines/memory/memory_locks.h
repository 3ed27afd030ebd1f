// MemoryLocks: locks and records in the memory of this process. The turns that all lock tables take
// (engines/table/turn.h) decide who holds; only the rows are here. Not thread-safe: MemoryServer guards it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engines/table/memory_rows.h"
#include "engines/table/turn.h"
#include "holdfast/engine.h"

namespace holdfast::internal {

class MemoryLocks {
 public:
  using ProcessId = table::ProcessId;

  // Clients: the holds and waits of one that has left end.
  ProcessId enter();
  void leave(ProcessId client) { clients_.erase(client); }

  // `now`: the client's clock, read before the call.
  table::Turn::Answer acquire(ProcessId client, const Claim& claim, bool queue, BootTime now);
  // True if it held.
  bool release(const Name& name, const ClaimId& claim, BootTime now);
  // False if the hold is gone.
  bool renew(const Hold& hold, BootTime now);
  bool detach(const Hold& hold, BootTime now);
  // True if there was a holder with this token.
  bool evict(const Name& name, Token token, BootTime now);
  LockInfo inspect(const Name& name, BootTime now);
  std::vector<LockInfo> list(const std::string& prefix, BootTime now);
  // Whose claim it is; nothing if it does not hold, or was detached.
  std::optional<ProcessId> client_of(const Name& name, const ClaimId& holder);
  // All waiters, to be told to look again.
  std::vector<table::Wake> waiters();
  // Whom to tell of what the last call changed.
  std::vector<table::Wake> take_wakes() { return std::exchange(wakes_, {}); }

  std::optional<std::string> read_record(const Name& name) const;
  bool swap_record(const Name& name, const std::optional<std::string>& expected,
                   std::optional<std::string> value);
  std::vector<Record> list_records(const std::string& prefix) const;

 private:
  struct Lock final : table::MemoryRows {
    explicit Lock(const MemoryLocks& all) : locks(all) {}
    bool gone(ProcessId client) override { return client != 0 && !locks.clients_.contains(client); }

    const MemoryLocks& locks;
    table::LockRow row;
  };

  Lock& lock_of(const Name& name);
  // Null if nobody ever asked for it.
  Lock* find(const Name& name);
  table::Turn begin_turn(Lock& lock, BootTime now) const;
  void forget_idle_names();

  std::map<std::string, Lock> locks_;
  std::map<std::string, std::string> records_;
  std::set<ProcessId> clients_;
  ProcessId last_client_ = 0;
  std::int64_t token_floor_ = 0;  // the highest token of a name that was forgotten
  std::vector<table::Wake> wakes_;
};

}  // namespace holdfast::internal
