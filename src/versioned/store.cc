#include "versioned/store.h"

#include "engines/registry.h"

namespace holdfast::internal {

Result<std::unique_ptr<VersionedStore>> open_versioned_store(const Url& url,
                                                             const VersionedTable& table,
                                                             Runtime& runtime,
                                                             const ClientOptions& options) {
  if (url.scheme == "sqlite") return open_sqlite_store(url, table, runtime);
#ifndef HOLDFAST_WITHOUT_MYSQL
  if (url.scheme == "mysql" || url.scheme == "mariadb") {
    return open_mysql_store(url, table, runtime, options);
  }
#endif
#ifndef HOLDFAST_WITHOUT_POSTGRES
  if (url.scheme == "postgres" || url.scheme == "postgresql") {
    return open_postgres_store(url, table, runtime, options);
  }
#endif
  if (Failure absent = no_engine(url); absent.code() == Code::misconfigured) return absent;
  return Failure(Code::invalid_argument,
                 "versioned rows are in mysql://, postgres:// or sqlite://, "
                 "not in '" +
                     url.scheme + ":'");
}

}  // namespace holdfast::internal
