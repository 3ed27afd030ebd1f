#include "engines/registry.h"

#include <algorithm>

#include "base/eternal.h"
#include "engines/etcd/etcd_engine.h"
#include "engines/memcached/memcached_engine.h"
#include "engines/memcached/memcached_quorum.h"
#include "engines/memory/memory_engine.h"
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
#ifndef HOLDFAST_WITHOUT_REDIS
      {{"redis", "rediss"}, "redis://127.0.0.1:6379/0", redis_guarantees(), &open_redis_engine},
      {{"redis+sentinel", "rediss+sentinel"},
       "redis+sentinel://h1,h2,h3/mymaster",
       redis_sentinel_guarantees(),
       &open_redis_engine},
      {{"redis+cluster", "rediss+cluster"},
       "redis+cluster://h1,h2,h3",
       redis_cluster_guarantees(),
       &open_redis_engine},
#endif
#ifndef HOLDFAST_WITHOUT_REDLOCK
      {{"redlock", "redlocks"},
       "redlock://h1,h2,h3,h4,h5",
       redlock_guarantees(),
       &open_redlock_engine},
#endif
#ifndef HOLDFAST_WITHOUT_ETCD
      {{"etcd", "etcds"}, "etcd://h1,h2,h3", etcd_guarantees(), &open_etcd_engine},
#endif
#ifndef HOLDFAST_WITHOUT_MEMCACHED
      {{"memcached"},
       "memcached://127.0.0.1:11211",
       memcached_guarantees(),
       &open_memcached_engine},
      {{"quorum+memcached"},
       "quorum+memcached://h1,h2,h3",
       memcached_quorum_guarantees(),
       &open_memcached_quorum},
#endif
#ifndef HOLDFAST_WITHOUT_ZOOKEEPER
      {{"zookeeper", "zk", "zookeeper+tls", "zks"},
       "zookeeper://h1,h2,h3/locks",
       zookeeper_guarantees(),
       &open_zookeeper_engine},
#endif
#ifndef HOLDFAST_WITHOUT_MYSQL
      {{"mysql", "mariadb"},
       "mysql://user@127.0.0.1/db",
       mysql_table_guarantees(),
       &open_mysql_engine,
       &mysql_schema,
       {{"mysql://user@127.0.0.1/db?recipe=named", mysql_named_guarantees()},
        {"mysql://user@127.0.0.1/db?recipe=row", mysql_row_guarantees()}}},
#endif
#ifndef HOLDFAST_WITHOUT_POSTGRES
      {{"postgres", "postgresql"},
       "postgres://user@127.0.0.1:5432/app",
       postgres_table_guarantees(),
       &open_postgres_engine,
       &postgres_schema,
       {{"postgres://user@127.0.0.1:5432/app?recipe=advisory", postgres_advisory_guarantees()},
        {"postgres://user@127.0.0.1:5432/app?recipe=row", postgres_row_guarantees()}}},
#endif
      {{"memory"}, "memory:", memory_guarantees(), &open_memory_engine},
  };
  return entries;
}

namespace {

// The beginning of an engine's schemes, and the option of the build that it depends on.
struct Family {
  std::string_view scheme;
  std::string_view option;
};
constexpr Family kFamilies[] = {
    {"redis", "HOLDFAST_ENGINE_REDIS"},
    {"redlock", "HOLDFAST_ENGINE_REDLOCK"},
    {"etcd", "HOLDFAST_ENGINE_ETCD"},
    {"memcached", "HOLDFAST_ENGINE_MEMCACHED"},
    {"quorum+memcached", "HOLDFAST_ENGINE_MEMCACHED"},
    {"zookeeper", "HOLDFAST_ENGINE_ZOOKEEPER"},
    {"zk", "HOLDFAST_ENGINE_ZOOKEEPER"},
    {"mysql", "HOLDFAST_ENGINE_MYSQL"},
    {"mariadb", "HOLDFAST_ENGINE_MYSQL"},
    {"postgres", "HOLDFAST_ENGINE_POSTGRES"},
};

Result<const EngineEntry*> entry_of(const Url& url) {
  for (const EngineEntry& entry : built_in_engines()) {
    if (std::ranges::count(entry.schemes, url.scheme) > 0) return &entry;
  }
  return no_engine(url);
}

}  // namespace

Failure no_engine(const Url& url) {
  std::vector<std::string> known;
  for (const EngineEntry& entry : built_in_engines()) {
    known.insert(known.end(), entry.schemes.begin(), entry.schemes.end());
  }
  for (const Family& family : kFamilies) {
    const auto is_of = [&](const std::string& scheme) { return scheme.starts_with(family.scheme); };
    if (!is_of(url.scheme) || std::ranges::any_of(known, is_of)) continue;
    return Failure(Code::misconfigured,
                   "the engine for '" + url.scheme + ":' was not built in; build Holdfast with " +
                       std::string(family.option) + "=ON and the client library that it needs");
  }
  std::string list;
  for (const std::string& scheme : known) list += (list.empty() ? "" : ", ") + scheme;
  return Failure(Code::invalid_argument,
                 "no engine for the scheme '" + url.scheme + ":' in this build; there is: " + list);
}

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
