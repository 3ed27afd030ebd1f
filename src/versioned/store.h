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

  // The version, and the columns as text; bytes where a column holds bytes.
  virtual SqlStatement reading(const std::string& key) const = 0;
  // Changes one row, if the version is the one that is there.
  virtual SqlStatement writing(const std::string& key, std::uint64_t version,
                               const std::vector<Value>& values) const = 0;
  // Changes one row, if there is none yet.
  virtual SqlStatement inserting(const std::string& key,
                                 const std::vector<Value>& values) const = 0;

  // invalid_argument if the values do not fit their columns, where the server would not say so.
  virtual Task<Result<void>> check(const std::string& /*key*/, const std::vector<Value>& /*values*/,
                                   Deadline) {
    co_return Result<void>();
  }
  // unknown if it may have been executed, invalid_argument if a value does not fit its column.
  virtual Task<Result<SqlRows>> run(SqlStatement statement, Deadline deadline) = 0;
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
