#include "engines/registry.h"

#include "base/eternal.h"
#include "engines/etcd/etcd_engine.h"
#include "engines/memcached/memcached_engine.h"
#include "engines/memcached/memcached_quorum.h"
#include "engines/mysql/mysql_engine.h"
#include "engines/postgres/postgres_engine.h"
#include "engines/redis/redis_engine.h"
#include "engines/redlock/redlock_engine.h"
#include "engines/sqlite/sqlite_engine.h"
#include "engines/zookeeper/zookeeper_engine.h"

namespace holdfast::internal {

const std::vector<EngineEntry>& built_in_engines() {
  static const Eternal<std::vector<EngineEntry>> entries = std::vector<EngineEntry>{
      {{"sqlite"}, "sqlite:///var/lib/app/locks.db", sqlite_guarantees(), &open_sqlite_engine},
      {{"redis", "rediss"}, "redis://127.0.0.1:6379/0", redis_guarantees(), &open_redis_engine},
      {{"redis+sentinel", "rediss+sentinel"},
       "redis+sentinel://h1,h2,h3/mymaster",
       redis_sentinel_guarantees(),
       &open_redis_engine},
      {{"redis+cluster", "rediss+cluster"},
       "redis+cluster://h1,h2,h3",
       redis_cluster_guarantees(),
       &open_redis_engine},
      {{"redlock", "redlocks"},
       "redlock://h1,h2,h3,h4,h5",
       redlock_guarantees(),
       &open_redlock_engine},
      {{"etcd", "etcds"}, "etcd://h1,h2,h3", etcd_guarantees(), &open_etcd_engine},
      {{"memcached"},
       "memcached://127.0.0.1:11211",
       memcached_guarantees(),
       &open_memcached_engine},
      {{"quorum+memcached"},
       "quorum+memcached://h1,h2,h3",
       memcached_quorum_guarantees(),
       &open_memcached_quorum},
      {{"zookeeper", "zk", "zookeeper+tls", "zks"},
       "zookeeper://h1,h2,h3/locks",
       zookeeper_guarantees(),
       &open_zookeeper_engine},
      {{"mysql", "mariadb"},
       "mysql://user@127.0.0.1/db",
       mysql_table_guarantees(),
       &open_mysql_engine,
       &mysql_schema,
       {{"mysql://user@127.0.0.1/db?recipe=named", mysql_named_guarantees()},
        {"mysql://user@127.0.0.1/db?recipe=row", mysql_row_guarantees()}}},
      {{"postgres", "postgresql"},
       "postgres://user@127.0.0.1:5432/app",
       postgres_table_guarantees(),
       &open_postgres_engine,
       &postgres_schema,
       {{"postgres://user@127.0.0.1:5432/app?recipe=advisory", postgres_advisory_guarantees()},
        {"postgres://user@127.0.0.1:5432/app?recipe=row", postgres_row_guarantees()}}},
  };
  return entries;
}

namespace {

Result<const EngineEntry*> entry_of(const Url& url) {
  std::string known;
  for (const EngineEntry& entry : built_in_engines()) {
    for (const std::string& scheme : entry.schemes) {
      if (scheme == url.scheme) return &entry;
      known += (known.empty() ? "" : ", ") + scheme;
    }
  }
  return Failure(Code::invalid_argument, "no engine for the scheme '" + url.scheme +
                                             ":' in this build; there is: " + known);
}

}  // namespace

Result<std::unique_ptr<Engine>> open_engine(const Url& url, Runtime& runtime,
                                            const ClientOptions& options) {
  const Result<const EngineEntry*> entry = entry_of(url);
  if (!entry) return entry.failure();
  return (*entry)->open(url, runtime, options);
}

Result<std::vector<std::string>> schema_of(const Url& url) {
  const Result<const EngineEntry*> entry = entry_of(url);
  if (!entry) return entry.failure();
  if (!(*entry)->schema) return std::vector<std::string>();
  return (*entry)->schema(url);
}

}  // namespace holdfast::internal
