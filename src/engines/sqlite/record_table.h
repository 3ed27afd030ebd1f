// RecordTable: records in a table of their own, in the same file as the locks. Synchronous; throws sqlite::Error.
//
// The table is made with the first record: a file of an older Holdfast is read as it is, and an older Holdfast goes
// on using a file that has records.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/engine.h"
#include "wire/sqlite.h"

namespace holdfast::internal {

class RecordTable {
 public:
  // `synced`: every commit reaches the disk as it is.
  RecordTable(sqlite::Database& database, bool synced);
  ~RecordTable();

  std::optional<std::string> read(const Name& name);
  // On the disk when it returns: a record that a power cut undid would let a job run twice.
  bool swap(const Name& name, const std::optional<std::string>& expected,
            const std::optional<std::string>& value);
  std::vector<Record> list(const std::string& prefix);

 private:
  struct Statements;

  // False if there is no table yet.
  bool prepare();
  std::optional<std::string> find(const Name& name);

  sqlite::Database& database_;
  const bool synced_;
  std::unique_ptr<Statements> sql_;  // null: no table was found yet
};

}  // namespace holdfast::internal
