// The lock table in the SQL that MySQL and MariaDB have in common.
#pragma once

#include "engines/table/table_server.h"

namespace holdfast::internal::mysql {

const table::Dialect& table_sql();

// What a listener sends. `sleep`: sleeps, unless one of these was granted something already. Any answer
// but nothing means that nobody keeps the listener from its lock, so that it cannot sleep.
// `news`: claim, token and remaining time of who holds what they wait for.
struct Listening {
  SqlStatement sleep;
  SqlStatement news;
};
Listening listen_for(const std::vector<table::TableServer::Awaited>& awaited,
                     table::ProcessId process, Duration longest);
// The name that is kept by another session of the same client, so that its listener can wait for it.
std::string hush_of(table::ProcessId process);

// Dialects number their parameters; the driver wants them in the order in which they stand. "$2, $1"
// becomes "?, ?", with the values to match.
SqlStatement in_order(const SqlStatement& numbered);

}  // namespace holdfast::internal::mysql
