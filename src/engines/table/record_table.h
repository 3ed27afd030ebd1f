// RecordTable: records as rows of a table of their own at a database server. Each change is one statement, and is
// followed in the same request by a look at what is there:
//   the change changed a row     it is stored
//   else, by the look:           the new value is there already (an earlier attempt, whose reply was lost), or
//                                something else is, or the expected value has come back meanwhile: once more
// Inside the loop only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engines/table/key.h"
#include "engines/table/record_sql.h"
#include "holdfast/engine.h"

namespace holdfast::internal::table {

class RecordTable {
 public:
  // How the server is asked. Each request may be repeated after its reply was lost. No outcome: there is no table,
  // and the request is a `look`, which makes none.
  using Ask = std::function<Task<Result<std::optional<SqlOutcome>>>(
      std::vector<SqlStatement> statements, bool look, Deadline deadline)>;

  // `prefix` stands in front of each name in the table.
  RecordTable(Runtime& runtime, const RecordSql& sql, std::string prefix, Ask ask)
      : runtime_(runtime), sql_(sql), prefix_(std::move(prefix)), ask_(std::move(ask)) {}

  Task<Result<std::optional<std::string>>> read(Name name, Deadline deadline);
  Task<Result<bool>> swap(Name name, std::optional<std::string> expected,
                          std::optional<std::string> value, Deadline deadline);
  Task<Result<std::vector<Record>>> list(std::string prefix, Deadline deadline);
  Task<Result<std::optional<WallTime>>> server_time(Deadline deadline);

 private:
  SqlStatement reading(const Key& key) const;
  // Nothing where no change can be needed.
  std::optional<SqlStatement> change(const Key& key, const std::optional<std::string>& expected,
                                     const std::optional<std::string>& value) const;

  Runtime& runtime_;
  const RecordSql& sql_;
  const std::string prefix_;
  const Ask ask_;
};

}  // namespace holdfast::internal::table
