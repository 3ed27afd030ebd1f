// Liveness: tells at once, and without doubt, whether the process behind a row is gone.
//
// Each client locks one byte (an OFD lock) of the file DB-live, at a random offset, which is its
// process id in the database. The kernel frees the byte when the last descriptor of that open
// file is closed: when the process has died, and every child that was given the descriptor on
// purpose (`holdfast run` gives it to its command) has died too. Unlike a pid this is never
// reused and means the same in every container.
//
// The danger: somebody deletes DB-live, and later clients make a new one, on which no byte
// of ours is locked. So the file's device and inode are kept beside the id, and a process is
// declared dead only by a client that has the very same file open.
//
// The file contains device and inode of the database that its clients use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "engines/sqlite/ownership.h"
#include "holdfast/runtime.h"

namespace holdfast::internal {

// Identifies a client in the database: the byte that it has locked. 0: no process; such a hold
// ends by release or ttl only.
using ProcessId = std::int64_t;

struct ProcessMark {
  ProcessId id = 0;
  std::int64_t device = 0;
  std::int64_t inode = 0;
};

// The database as a newcomer finds it.
struct FoundDatabase {
  // It has its log and the log's index, which stay as long as it does.
  bool complete = false;
  std::int64_t device = 0;
  std::int64_t inode = 0;
};

class Liveness {
 public:
  // True in a forked child whose parent had this database open when it forked. SQLite believes
  // then that locks are held which only the parent holds: the child must not open it.
  static bool inherited_by_fork(const std::filesystem::path& database);

  // If files of the database are missing, or it is another one than that of a client that lives,
  // then they were taken from under that client, and nobody else may come in while it believes in
  // its locks. Throws sqlite::Error: refused, or in use for now.
  Liveness(const std::filesystem::path& database, Runtime& runtime, const Ownership& ownership,
           const FoundDatabase& found);
  ~Liveness();
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;

  const ProcessMark& mine() const { return mine_; }
  // False only if that process is gone for certain.
  bool may_live(const ProcessMark& process) const;
  // True only if that process lives for certain.
  bool surely_lives(const ProcessMark& process) const;
  int descriptor() const { return descriptor_; }

 private:
  bool same_file(const ProcessMark& process) const {
    return process.device == mine_.device && process.inode == mine_.inode;
  }

  // The content of the file: which database its clients use.
  std::optional<FoundDatabase> named_database() const;
  void name(const FoundDatabase& found);
  void refuse_if_used(const std::filesystem::path& database) const;
  void lock_a_byte(const std::string& path, Runtime& runtime);

  int descriptor_;
  ProcessMark mine_;
};

}  // namespace holdfast::internal
