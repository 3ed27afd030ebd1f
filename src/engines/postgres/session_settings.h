// What every session of ours sets for itself, whichever recipe it serves: of what the database's owner
// has set, what matters to locks is set right.
#pragma once

#include <string>
#include <vector>

#include "engines/postgres/settings.h"
#include "wire/sql_connection.h"

namespace holdfast::internal::postgres {

// A list of set_config(…), to be selected.
inline constexpr const char* kSessionSettings =
    "set_config('default_transaction_isolation', 'read committed', false),"
    " set_config('default_transaction_read_only', 'off', false),"
    // As the driver reads bytes.
    " set_config('bytea_output', 'hex', false),"
    " set_config('lock_timeout', '0', false), set_config('idle_session_timeout', '0', false),"
    // A token that is not on disk when it is used may come again.
    " set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
    " WHEN 'off' THEN 'local' ELSE current_setting('synchronous_commit') END, false),"
    // All goes by key, whatever the tables hold: planned once, and by the indexes. (Just-in-time
    // compilation would set in where a plan must do without one.)
    " set_config('plan_cache_mode', 'force_generic_plan', false),"
    " set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false),"
    " set_config('jit', 'off', false)";

// Makes the session look into the schema that the URL names. Empty if it names none.
std::vector<SqlStatement> use_schema(const Settings& settings);
// Makes that schema, in front of the tables.
std::vector<std::string> make_schema(const Settings& settings);

}  // namespace holdfast::internal::postgres
