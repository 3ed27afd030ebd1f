// MariaDB's client library, loaded when the first connection to MySQL or MariaDB is made and not
// before: linking it would cost every start of the command more than taking a lock does. The
// functions have their usual names, as members of `LibMariadb`.
#pragma once

#include <mysql.h>

#include "holdfast/result.h"

// name: all that we call.
#define HOLDFAST_MARIADB_FUNCTIONS(X) \
  X(mysql_server_init)                \
  X(mysql_init)                       \
  X(mysql_options)                    \
  X(mysql_optionsv)                   \
  X(mysql_real_connect_start)         \
  X(mysql_real_connect_cont)          \
  X(mysql_real_query_start)           \
  X(mysql_real_query_cont)            \
  X(mysql_store_result_start)         \
  X(mysql_store_result_cont)          \
  X(mysql_next_result_start)          \
  X(mysql_next_result_cont)           \
  X(mysql_more_results)               \
  X(mysql_free_result)                \
  X(mysql_fetch_row)                  \
  X(mysql_fetch_lengths)              \
  X(mysql_num_fields)                 \
  X(mysql_field_count)                \
  X(mysql_affected_rows)              \
  X(mysql_insert_id)                  \
  X(mysql_get_socket)                 \
  X(mysql_get_server_info)            \
  X(mysql_thread_id)                  \
  X(mysql_errno) X(mysql_error) X(mysql_sqlstate) X(mysql_close)

namespace holdfast::internal {

struct LibMariadb {
#define HOLDFAST_DECLARE(name) decltype(&::name) name = nullptr;
  HOLDFAST_MARIADB_FUNCTIONS(HOLDFAST_DECLARE)
#undef HOLDFAST_DECLARE

  // misconfigured, with what to install, if it is not there. Thread-safe.
  static Result<const LibMariadb*> load();
};

}  // namespace holdfast::internal
