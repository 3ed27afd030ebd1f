// The lock table in the SQL that MySQL and MariaDB have in common.
#pragma once

#include "engines/table/table_server.h"

namespace holdfast::internal::mysql {

const table::Dialect& table_sql();

// How long the server keeps a connection of ours that says nothing, in seconds (MySQL counts no
// fractions): inside a transaction, which locks rows; between two calls; and that of a listener.
inline constexpr const char* kTransactionTimeout = "3";
inline constexpr const char* kCallTimeout = "600";
inline constexpr const char* kListenerTimeout = "60";

// A request whose transactions the server ends when the client falls silent inside them. MariaDB has a
// setting for that; for MySQL, which has none, wait_timeout is short for as long as a transaction lasts.
struct Bounded {
  explicit Bounded(std::vector<SqlStatement> given);
  // Removes what the added statements answered.
  void strip(SqlOutcome& outcome) const;

  std::vector<SqlStatement> statements;
  std::vector<std::size_t> added;  // which of them were not given
};

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
