// The systems, each in a file of its own.
#pragma once

#include "product.h"
#include "system.h"

namespace holdfast::bench {

SystemKind embedded_kind();
SystemKind redis_kind();
SystemKind redlock_kind();
SystemKind memcached_kind();
SystemKind zookeeper_kind();
SystemKind etcd_kind();
SystemKind postgres_kind();
SystemKind mysql_kind();

// "redis 7.0.15"
inline std::string title_of(test::ServerKind kind) {
  const test::Product product = test::Product::of(kind);
  return product.name() + " " + product.version();
}

}  // namespace holdfast::bench
