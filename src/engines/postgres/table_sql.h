// The lock table in PostgreSQL's SQL.
#pragma once

#include "engines/table/dialect.h"

namespace holdfast::internal::postgres {

const table::Dialect& table_sql();

}  // namespace holdfast::internal::postgres
