// The classes of the errors of MySQL and MariaDB, by number. (What a refused login means is told by the driver, see
// mariadb_refusal().)
#pragma once

#include "sql/errors.h"
#include "sql/mysql/settings.h"

namespace holdfast::internal::mysql {

SqlTrouble trouble_with(const SqlError& error);

// A value that does not fit its column, or breaks a constraint.
bool refuses_value(const SqlError& error);
// A row with the same key is there already.
bool is_duplicate(const SqlError& error);
// A user lacks rights.
bool refuses_user(const SqlError& error);

// How an error reads to a user; unknown if the request may have been executed. A server that can only be read is
// unreachable: it may be written again in a moment, and where it is one of several, another may be already.
Failure failure_of(const Settings& settings, const SqlError& error);
// The same; the observer hears of it.
Failure reported_failure(Runtime& runtime, const Settings& settings, const SqlError& error);

}  // namespace holdfast::internal::mysql
