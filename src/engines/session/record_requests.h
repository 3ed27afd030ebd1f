// How a table of records asks the server of locks that live in sessions: through the clerk's session. Inside the loop
// only.
#pragma once

#include "engines/session/sessions.h"
#include "engines/table/record_table.h"

namespace holdfast::internal::session {

// All must outlive what is returned. No request is waited for longer than `timeout`.
table::RecordTable::Ask record_requests(Runtime& runtime, Recipe& recipe, Sessions& sessions,
                                        Duration timeout);

}  // namespace holdfast::internal::session
