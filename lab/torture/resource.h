// Resource: what the lock protects: a number in a file (register), or a file that entries are
// appended to (log). A client adds one: it reads the last number and writes what it read plus one.
//
// Three kinds, which differ in what they ask of a token: nothing, on writes, on reads and writes.
// Each operation is alone at the resource, and is in the history before the next one begins.
//
// Thread safety: one thread at a time; any number of processes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "holdfast/fence.h"
#include "lab/history.h"

namespace holdfast::lab {

class Resource {
 public:
  // Files of its own in `folder`; made if they are not there. Throws LockError, std::system_error.
  Resource(const std::filesystem::path& folder, ResourceId id, HistoryFile& history);

  const ResourceId& id() const { return id_; }

  // Nothing if the fence refuses.
  std::optional<std::int64_t> read(const std::string& who, const Ticket& ticket);
  // False if the fence refuses. REQUIRES: an exclusive ticket.
  bool write(const std::string& who, const Ticket& ticket, std::int64_t value);

 private:
  class Turn;
  std::int64_t last() const;
  void put(std::int64_t value) const;

  const ResourceId id_;
  const std::filesystem::path file_;
  HistoryFile& history_;
  std::optional<FenceGate> gate_;
};

}  // namespace holdfast::lab
