// Sessions of ours at a PostgreSQL server. Each sets for itself what matters, whichever recipe it serves and whatever
// the defaults of server, database and role are. default_transaction_read_only stays: an owner who sets it means it
// (some services do when the disk is full). Inside the loop only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sql/postgres/settings.h"

namespace holdfast::internal::postgres {

// The purpose of a session decides for how long the server waits: for a row that somebody has locked, for our next
// word, and for a client that is gone without a word.
struct SessionUse {
  const char* lock_timeout = "0";
  const char* idle_timeout = "10min";
  const char* idle_in_transaction_timeout = "0";
  const char* unacknowledged_timeout = "30s";
  const char* keepalives = "4";  // unanswered ones, 5 s apart after 10 s of silence
  const char* more = "";         // further settings, each from ", "
  // Refused if another backend answers than the one that greeted us, as behind a proxy that pools: then nothing is
  // set, or prepared, in a session that may be another's.
  bool own_backend = true;
};

// A connection without any settings. Failures name the server.
Task<Result<std::unique_ptr<PostgresConnection>>> connect(Runtime& runtime,
                                                          const Settings& settings,
                                                          Deadline deadline);

struct NewSession {
  std::unique_ptr<PostgresConnection> connection;
  std::vector<SqlRows> answers;  // to `more`
};
// Makes the statements that are sent behind the settings, in the same trip.
using More = std::function<std::vector<SqlStatement>(const PostgresConnection&)>;
Task<Result<NewSession>> open_session(Runtime& runtime, const Settings& settings, SessionUse use,
                                      Deadline deadline, More more = nullptr);

// Makes the session look into the schema that the URL names, if it is that of this backend. Empty if it names none.
std::vector<SqlStatement> use_schema(const Settings& settings, std::int64_t backend);

// Sets what matters to a lock table until the end of a transaction, the schema too: for sessions that are not ours.
SqlStatement transaction_settings(const Settings& settings, const std::string& lock_timeout);

}  // namespace holdfast::internal::postgres
