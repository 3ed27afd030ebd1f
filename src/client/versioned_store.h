// VersionedStore: where versioned rows are: the statements of one database, and how to run them.
// Inside the loop only.
#pragma once

#include <memory>

#include "base/url.h"
#include "holdfast/options.h"
#include "holdfast/runtime.h"
#include "holdfast/versioned.h"
#include "wire/sql_connection.h"

namespace holdfast::internal {

class VersionedStore {
 public:
  using Value = Versioned::Value;
  virtual ~VersionedStore() = default;

  // The version, and the columns as text.
  virtual SqlStatement read(const std::string& key) const = 0;
  // One row, or one row affected, if the version was the one that is there.
  virtual SqlStatement write(const std::string& key, std::uint64_t version,
                             const std::vector<Value>& values) const = 0;
  // The same if there was none.
  virtual SqlStatement insert(const std::string& key, const std::vector<Value>& values) const = 0;

  // unknown: it may have been executed.
  virtual Task<Result<SqlRows>> run(SqlStatement statement, Deadline deadline) = 0;
};

Result<std::unique_ptr<VersionedStore>> open_versioned_store(const Url& url,
                                                             const VersionedTable& table,
                                                             Runtime& runtime,
                                                             const ClientOptions& options);

}  // namespace holdfast::internal
