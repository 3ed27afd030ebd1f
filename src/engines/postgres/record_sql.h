// The table of records in PostgreSQL's SQL.
#pragma once

#include "engines/table/record_sql.h"

namespace holdfast::internal::postgres {

const table::RecordSql& record_sql();

}  // namespace holdfast::internal::postgres
