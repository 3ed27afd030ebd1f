// The table of records in MySQL's and MariaDB's SQL.
#pragma once

#include "engines/table/record_sql.h"

namespace holdfast::internal::mysql {

const table::RecordSql& record_sql();

}  // namespace holdfast::internal::mysql
