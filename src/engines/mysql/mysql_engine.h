// Locks in MySQL and MariaDB, by one of several recipes (see docs/engines/mysql.md).
#pragma once

#include <memory>

#include "base/url.h"
#include "holdfast/engine.h"
#include "holdfast/options.h"

namespace holdfast::internal {

Guarantees mysql_guarantees();
Guarantees mysql_table_guarantees();

Result<std::unique_ptr<Engine>> open_mysql_engine(const Url& url, Runtime& runtime,
                                                  const ClientOptions& options);

}  // namespace holdfast::internal
