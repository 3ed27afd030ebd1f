#include "sql/mysql/errors.h"

#include "base/failures.h"

namespace holdfast::internal::mysql {

namespace {

// The remedy, where an administrator or the author of the URL has to mend something; else empty.
std::string to_be_mended(const SqlError& error) {
  if (refuses_user(error))
    return "the user lacks rights; docs/engines/mysql.md names what it needs";
  switch (error.number) {
    case 1046: return "there is no such database; write mysql://…/DATABASE";
    case 1054: return "a table has other columns than expected";
    case 1820: return "the user's password has expired: ALTER USER … IDENTIFIED BY …";
    case 1665: return "set binlog_format to MIXED or ROW";
    case 1064:
    case 1193:  // a variable
    case 1305:  // a function
      return "it does not understand us; MariaDB 10.6 or MySQL 8 is needed";
    default: return "";
  }
}

// The cause, where it may be over in a while; else empty.
std::string why_for_now(const SqlError& error) {
  if (error.read_only) return "it can only be read: is it a replica?";
  return error.number == 1021 || error.number == 1114 ? "it is full" : "";
}

}  // namespace

SqlTrouble trouble_with(const SqlError& error) {
  switch (error.number) {
    case 1205:  // lock wait timeout, and NOWAIT in MariaDB
    case 3572:  // NOWAIT in MySQL
      return SqlTrouble::busy;
    case 1317: return SqlTrouble::interrupted;
    case 1020:  // the record has changed
    case 1213:  // deadlock
    case 3058:  // the same among named locks
      return SqlTrouble::again;
    case 1146: return SqlTrouble::no_table;
    default: return SqlTrouble::other;
  }
}

bool is_duplicate(const SqlError& error) { return error.number == 1062; }

bool refuses_value(const SqlError& error) {
  constexpr int kNotOfTheColumn = 1366;
  constexpr int kNotUtf8 = 1300;
  const std::string kind = error.state.substr(0, 2);
  return kind == "22" || kind == "23" || error.number == kNotOfTheColumn ||
         error.number == kNotUtf8;
}

bool refuses_user(const SqlError& error) {
  switch (error.number) {
    case 1044:  // to the database
    case 1142:  // to the table
    case 1143:
    case 1227:
    case 1370: return true;
    default: return false;
  }
}

Failure failure_of(const Settings& settings, const SqlError& error) {
  if (error.cancelled && !error.may_have_run) return cancelled_by_caller();
  if (error.may_have_run) return settings.failure(Code::unknown, error.message);
  if (const std::string why = to_be_mended(error); !why.empty()) {
    return settings.failure(Code::misconfigured, why + " (" + error.message + ")");
  }
  const std::string why = why_for_now(error);
  return settings.failure(Code::unreachable,
                          why.empty() ? error.message : why + " (" + error.message + ")");
}

Failure reported_failure(Runtime& runtime, const Settings& settings, const SqlError& error) {
  return reported(runtime, settings.connection.endpoint, error, trouble_with(error),
                  failure_of(settings, error));
}

}  // namespace holdfast::internal::mysql
