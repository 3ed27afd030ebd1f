// The lock table in the SQL that MySQL and MariaDB have in common.
#pragma once

#include "engines/table/dialect.h"

namespace holdfast::internal::mysql {

const table::Dialect& table_sql();

// Changes one row if the listener's bell was silent: then a KILL may be sent (mysql_table.h).
std::string ring_bell_of(const std::string& process);

// Dialects number their parameters; the driver wants them in the order in which they stand. "$2, $1"
// becomes "?, ?", with the values to match.
SqlStatement in_order(const SqlStatement& numbered);

}  // namespace holdfast::internal::mysql
