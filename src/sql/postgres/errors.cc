#include "sql/postgres/errors.h"

#include "base/failures.h"

namespace holdfast::internal::postgres {

const char* const kNoPooling =
    "there is a proxy that pools transactions, and this needs a session of its own: connect to the "
    "server itself, "
    "let the proxy pool sessions, or use recipe=table with pooled=yes";

namespace {

std::string_view class_of(const SqlError& error) {
  return std::string_view(error.state).substr(0, 2);
}

// Connections, resources, an operator, the system, transactions that were rolled back, objects in use, defects.
bool may_pass(const SqlError& error) {
  for (const char* kind : {"08", "53", "57", "58", "40", "55", "XX"}) {
    if (class_of(error) == kind) return true;
  }
  return false;
}

}  // namespace

SqlTrouble trouble_with(const SqlError& error) {
  const std::string_view state = error.state;
  if (state == "55P03") return SqlTrouble::busy;         // lock_timeout, NOWAIT
  if (state == "57014") return SqlTrouble::interrupted;  // pg_cancel_backend(), statement_timeout
  if (state == "40P01" || state == "40001") return SqlTrouble::again;
  return state == "42P01" ? SqlTrouble::no_table : SqlTrouble::other;
}

bool refuses_value(const SqlError& error) {
  return class_of(error) == "22" || class_of(error) == "23";
}

bool refuses_user(const SqlError& error) { return error.state == "42501"; }

Failure failure_of(const Settings& settings, const SqlError& error, std::string_view rights) {
  if (error.cancelled && !error.may_have_run) return cancelled_by_caller();
  if (error.may_have_run) return settings.failure(Code::unknown, error.message);
  if (error.lost) return settings.failure(Code::unreachable, error.message);
  if (error.read_only) {
    return settings.failure(Code::misconfigured,
                            error.message +
                                "; this server is read-only (a standby?): locks are at the one "
                                "that can be written");
  }
  if (refuses_user(error) && !rights.empty()) {
    return settings.failure(Code::misconfigured,
                            error.message + "; the user needs " + std::string(rights));
  }
  // A prepared statement of ours is missing, or somebody else's is there.
  if (error.state == "26000" || error.state == "42P05") {
    return settings.failure(Code::misconfigured, error.message + "; " + kNoPooling);
  }
  return settings.failure(may_pass(error) ? Code::unreachable : Code::misconfigured, error.message);
}

Failure reported_failure(Runtime& runtime, const Settings& settings, const SqlError& error,
                         std::string_view rights) {
  return reported(runtime, settings.login.endpoint, error, trouble_with(error),
                  failure_of(settings, error, rights));
}

}  // namespace holdfast::internal::postgres
