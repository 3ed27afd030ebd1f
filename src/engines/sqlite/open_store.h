// OpenStore: a database file that is open, and what stands on it.
#pragma once

#include "engines/sqlite/database_files.h"
#include "engines/sqlite/liveness.h"
#include "engines/sqlite/lock_table.h"
#include "engines/sqlite/record_table.h"
#include "engines/sqlite/schema.h"
#include "engines/sqlite/wake_socket.h"

namespace holdfast::internal {

struct OpenStore {
  OpenStore(const StoreOptions& options, const Ownership& ownership, Runtime& runtime,
            const std::string& label)
      : found(DatabaseFiles::check(options.path, ownership)),
        liveness(options.path, runtime, found.beside, found.database),
        database(options.path, sqlite::Waits::brief),
        prepared(prepare_tables(database, options, liveness, runtime, found.database.complete)),
        files(options.path, ownership, database),
        table(runtime, database, liveness, prepared, label),
        records(database, options.sync_every_commit),
        sockets(options.path, runtime, liveness.mine().id, found.beside) {}

  DatabaseFiles::Found found;
  Liveness liveness;  // First in and last out: it knows of a fork while the database is open.
  sqlite::Database database;
  Prepared prepared;
  DatabaseFiles files;
  LockTable table;
  RecordTable records;
  WakeSocket sockets;
};

}  // namespace holdfast::internal
