#include "engines/sqlite/boot.h"

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "base/process.h"

namespace holdfast::internal {

namespace {

// ?1: what to add to the times; ?2: now.
constexpr const char* kTranslate[] = {
    "DELETE FROM waiter",
    "DELETE FROM holder WHERE process <> 0 AND process NOT IN (SELECT id FROM process)",
    "UPDATE holder SET since = since + ?1, expires = min(expires + ?1, ?2 + expires - since)",
    "DELETE FROM holder WHERE expires <= ?2",
    "UPDATE lock SET owner = NULL"
    " WHERE process <> 0 AND process NOT IN (SELECT id FROM process)",
    "UPDATE lock SET since = since + ?1, expires = min(expires + ?1, ?2 + expires - since)"
    " WHERE owner IS NOT NULL",
    "UPDATE lock SET owner = NULL WHERE expires <= ?2",
    "UPDATE lock SET waiting = 0,"
    " sharing = (SELECT count(*) FROM holder WHERE holder.lock = lock.id)",
    // Tokens follow the wall clock. The step is for one that was set back: it is more than anybody
    // grants between two checkpoints, which are what a power cut can undo.
    "UPDATE meta SET token_floor ="
    " max(token_floor, (SELECT coalesce(max(token), 0) FROM lock)) + 1000000",
    "DELETE FROM lock WHERE owner IS NULL AND sharing = 0",
};

// The times cannot be translated: as if every ttl had passed.
constexpr const char* kForgetHolders = R"sql(
DELETE FROM holder;
UPDATE lock SET owner = NULL;
)sql";

struct Stored {
  std::string boot;
  std::int64_t wall_offset_ns = 0;
};

Stored stored_in(sqlite::Database& database) {
  sqlite::Statement statement(database, "SELECT CAST(boot AS BLOB), wall_offset FROM meta");
  auto row = statement.run();
  if (!row.next()) return {};
  return {std::string(row.bytes(0)), row.number(1)};
}

// Removes the rows of processes that are gone for certain.
void drop_dead_processes(sqlite::Database& database, const Liveness& liveness) {
  std::vector<ProcessId> dead;
  {
    sqlite::Statement statement(database, "SELECT id, device, inode, pid FROM process");
    auto process = statement.run();
    while (process.next()) {
      const ProcessMark mark{process.number(0), process.number(1), process.number(2)};
      if (liveness.surely_lives(mark)) {
        throw sqlite::Error(sqlite::Error::kRefused,
                            "process " + std::to_string(process.number(3)) +
                                " uses it under another boot id: this process sees a kernel of "
                                "its own, as in some containers, and cannot share the file");
      }
      if (!liveness.may_live(mark)) dead.push_back(mark.id);
    }
  }
  sqlite::Statement remove(database, "DELETE FROM process WHERE id = ?1");
  for (const ProcessId process : dead) remove.run(process).finish();
}

void run(sqlite::Database& database, const char* sql, std::int64_t shift, std::int64_t now) {
  const std::string text(sql);
  sqlite::Statement statement(database, text);
  // Only those that have the parameters.
  if (text.find("?2") != std::string::npos) {
    statement.run(shift, now).finish();
  } else {
    statement.run().finish();
  }
}

}  // namespace

Boot Boot::current(const Runtime& runtime) {
  Boot boot;
  errno = 0;
  boot.id_ = first_line(read_proc("/proc/sys/kernel/random/boot_id"));
  if (boot.id_.empty()) {
    sqlite::throw_at_limit(errno);
    throw sqlite::Error(sqlite::Error::kRefused,
                        "the machine's boot id cannot be read; is /proc mounted?");
  }
  // Both clocks at one moment: not before and after a pause of this process.
  constexpr Duration kMoment = std::chrono::milliseconds(1);
  constexpr int kAttempts = 10;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const BootTime before = runtime.now();
    const Duration wall = runtime.wall().time_since_epoch();
    boot.now_ns_ = before.time_since_epoch().count();
    boot.wall_offset_ns_ = wall.count() - boot.now_ns_;
    if (runtime.now() - before < kMoment) break;
  }
  return boot;
}

bool Boot::is_that_of(sqlite::Database& database) const {
  constexpr std::int64_t kClockWasSet = 1'000'000'000;  // ns
  const Stored stored = stored_in(database);
  return stored.boot == id_ && std::llabs(stored.wall_offset_ns - wall_offset_ns_) < kClockWasSet;
}

void Boot::enter(sqlite::Database& database, const Liveness& liveness) const {
  const Stored stored = stored_in(database);
  if (!stored.boot.empty() && stored.boot != id_) {
    drop_dead_processes(database, liveness);
    if (stored.wall_offset_ns == 0) database.execute(kForgetHolders);  // made by version 1
    for (const char* sql : kTranslate) {
      run(database, sql, stored.wall_offset_ns - wall_offset_ns_, now_ns_);
    }
  }
  sqlite::Statement(database, "UPDATE meta SET boot = CAST(?1 AS TEXT), wall_offset = ?2")
      .run(std::string_view(id_), wall_offset_ns_)
      .finish();
}

}  // namespace holdfast::internal
