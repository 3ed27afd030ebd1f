// Every session of ours sets this for itself, whichever recipe it serves, whatever the defaults of server,
// database and role are. default_transaction_read_only stays: an owner who sets it means it (some services
// do when the disk is full).
#pragma once

#include <string>
#include <vector>

#include "engines/postgres/settings.h"
#include "wire/sql_connection.h"

namespace holdfast::internal::postgres {

// A list of set_config(…), to be selected.
std::string session_settings(const Settings& settings);

// Makes the session look into the schema that the URL names, if it is that of this backend. Empty if it names none.
std::vector<SqlStatement> use_schema(const Settings& settings, std::int64_t backend);
// Sets what matters to a lock table until the end of a transaction, the schema too: for sessions that are not ours.
SqlStatement transaction_settings(const Settings& settings, const std::string& lock_timeout);
// Makes that schema, in front of the tables.
std::vector<std::string> make_schema(const Settings& settings);

}  // namespace holdfast::internal::postgres
