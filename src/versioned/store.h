// VersionedStore: versioned rows in one database: its statements, and how they are run.
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

  // All: unknown if it may have been executed, invalid_argument if a value does not fit its column.

  // The version, and the columns as text; bytes where a column holds bytes.
  virtual Task<Result<SqlRows>> read(std::string key, Deadline deadline) = 0;
  // One row affected, if the version was the one that is there.
  virtual Task<Result<SqlRows>> write(std::string key, std::uint64_t version,
                                      std::vector<Value> values, Deadline deadline) = 0;
  // One row affected, if there was none.
  virtual Task<Result<SqlRows>> insert(std::string key, std::vector<Value> values,
                                       Deadline deadline) = 0;
};

// By the scheme of the URL.
Result<std::unique_ptr<VersionedStore>> open_versioned_store(const Url& url,
                                                             const VersionedTable& table,
                                                             Runtime& runtime,
                                                             const ClientOptions& options);

std::unique_ptr<VersionedStore> open_sqlite_store(const Url& url, const VersionedTable& table,
                                                  Runtime& runtime);
Result<std::unique_ptr<VersionedStore>> open_mysql_store(const Url& url,
                                                         const VersionedTable& table,
                                                         Runtime& runtime,
                                                         const ClientOptions& options);
Result<std::unique_ptr<VersionedStore>> open_postgres_store(const Url& url,
                                                            const VersionedTable& table,
                                                            Runtime& runtime,
                                                            const ClientOptions& options);

}  // namespace holdfast::internal
