// The PostgreSQL engine: one server, several recipes. See docs/engines/postgres.md.
#pragma once

#include <memory>

#include "base/url.h"
#include "holdfast/engine.h"
#include "holdfast/options.h"

namespace holdfast::internal {

Guarantees postgres_table_guarantees();
Guarantees postgres_advisory_guarantees();
Guarantees postgres_row_guarantees();

// The statements that make the tables of the URL's recipe.
Result<std::vector<std::string>> postgres_schema(const Url& url);

Result<std::unique_ptr<Engine>> open_postgres_engine(const Url& url, Runtime& runtime,
                                                     const ClientOptions& options);

}  // namespace holdfast::internal
