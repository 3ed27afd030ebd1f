// The classes of PostgreSQL's errors, by SQLSTATE.
#pragma once

#include <string_view>

#include "sql/errors.h"
#include "sql/postgres/settings.h"

namespace holdfast::internal::postgres {

// The remedy for a proxy that pools transactions.
extern const char* const kNoPooling;

SqlTrouble trouble_with(const SqlError& error);

// A value that does not fit its column, or breaks a constraint.
bool refuses_value(const SqlError& error);

// A user lacks rights.
bool refuses_user(const SqlError& error);

// How an error reads to a user; unknown if the request may have been executed. `rights`: which ones the user needs.
//
// A server that can only be read (25006) is unreachable where another of its group may be written: the request is
// repeated there. A server that stands alone is misconfigured: somebody made it read-only, or the URL leads to a
// standby, and to ask again and again would hide that.
Failure failure_of(const Settings& settings, const SqlError& error, std::string_view rights = {});
// The same; the observer hears of it.
Failure reported_failure(Runtime& runtime, const Settings& settings, const SqlError& error,
                         std::string_view rights = {});

}  // namespace holdfast::internal::postgres
