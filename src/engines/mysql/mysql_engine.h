// Locks in MySQL and MariaDB, by one of several recipes (see docs/engines/mysql.md).
#pragma once

#include <memory>

#include "base/url.h"
#include "holdfast/engine.h"
#include "holdfast/options.h"

namespace holdfast::internal {

Guarantees mysql_table_guarantees();
Guarantees mysql_named_guarantees();
Guarantees mysql_row_guarantees();

// The statements that make the tables of the URL's recipe.
Result<std::vector<std::string>> mysql_schema(const Url& url);

Result<std::unique_ptr<Engine>> open_mysql_engine(const Url& url, Runtime& runtime,
                                                  const ClientOptions& options);

}  // namespace holdfast::internal
