// Every session of ours sets this for itself, whatever the server's defaults are: all settings that matter
// to locks and to versioned rows.
#pragma once

#include <string>

namespace holdfast::internal::mysql {

// A statement, to which more may be added from ", ".
inline std::string session_setup(bool is_mariadb) {
  std::string text =
      "SET SESSION autocommit = 1, SESSION completion_type = 'NO_CHAIN',"
      // A value that does not fit is an error.
      " SESSION sql_mode = 'STRICT_ALL_TABLES',"
      // The server may be told to ignore what the client library says.
      " SESSION character_set_client = utf8mb4, SESSION character_set_connection = utf8mb4,"
      " SESSION character_set_results = utf8mb4,"
      // Ends a session that holds nothing and whose client is gone without a word.
      " SESSION wait_timeout = 600, SESSION ";
  text += is_mariadb ? "tx_isolation = 'READ-COMMITTED', SESSION tx_read_only = 0, SESSION "
                       "max_statement_time = 0, SESSION idle_transaction_timeout = 0, SESSION "
                       "idle_readonly_transaction_timeout = 0, SESSION "
                       "idle_write_transaction_timeout = 0"
                     : "transaction_isolation = 'READ-COMMITTED', SESSION "
                       "transaction_read_only = 0, SESSION max_execution_time = 0";
  return text;
}

}  // namespace holdfast::internal::mysql
