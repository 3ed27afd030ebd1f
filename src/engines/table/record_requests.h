// How a table of records asks the server of a lock table. Inside the loop only.
#pragma once

#include "engines/table/record_table.h"
#include "engines/table/requests.h"

namespace holdfast::internal::table {

// All must outlive what is returned. No request is waited for longer than `timeout`.
RecordTable::Ask record_requests(Runtime& runtime, ConnectionPool& connections, SqlJudge& judge,
                                 Duration timeout);

}  // namespace holdfast::internal::table
