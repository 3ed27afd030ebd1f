// The lock table in PostgreSQL's SQL.
#pragma once

#include "engines/table/dialect.h"

namespace holdfast::internal::postgres {

const table::Dialect& table_sql();
// Says of waiters that are not woken that they are still there. name, their claims in one.
const char* stay_alive_sql();

}  // namespace holdfast::internal::postgres
