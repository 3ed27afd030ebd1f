// Marks in tables of a SQLite database, one row per resource:
//
//   holdfast_fence(resource BLOB PRIMARY KEY, mark INTEGER, writes INTEGER)
//   holdfast_fence_writer(resource BLOB PRIMARY KEY, writer INTEGER, newest INTEGER)
//
// `mark` is the highest token of all, and all that programs without modes know. A row of the second
// table counts only as long as its `newest` is that mark; if there is none, an exclusive token was
// admitted last, and the highest exclusive one is the mark. It is a table of its own, not a column,
// so that CREATE is all it takes to upgrade a database.
//
// SQLite's integers are signed: a mark of 2^63 or more is kept as the negative number with the same
// 64 bits, and every comparison takes that into account.
//
// A visitor inside the gate holds a lock on one byte of "DATABASE-fence", not a transaction: the resource is
// likely to be a table of the same database, and a transaction of ours would lock its user out.
// For the same reason no connection stays open between calls; besides, SQLite must not be carried
// across a fork: a child's own connection would take over the lock state of the inherited one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "fence/mark_store.h"

namespace holdfast::internal::fence {

// Creates database, table and row if need be.
Result<std::unique_ptr<MarkStore>> open_sqlite_mark(const std::filesystem::path& database,
                                                    std::string_view resource);

}  // namespace holdfast::internal::fence
