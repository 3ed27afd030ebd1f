#include "wire/mariadb_connection.h"

namespace holdfast::internal {

Failure mariadb_failure(const SqlError& error, const std::string& where) {
  const auto failure = [&](Code code, const std::string& why) {
    return Failure(code, "MySQL at " + where + ": " + why);
  };
  const std::string said = " (" + error.message + ")";
  if (error.may_have_run) return failure(Code::unknown, error.message);
  switch (error.number) {
    case 1045:  // access denied
    case 1698:
    case 2059:  // the library has not got this way to log in
    case 1251: return failure(Code::misconfigured, "the user or password is wrong" + said);
    case 1044:  // no right to the database
    case 1142:  // to the table
    case 1143:
    case 1227:
    case 1370:
      return failure(Code::misconfigured, "the user lacks rights" + said +
                                              "; docs/engines/mysql.md names what it needs");
    case 1046:
    case 1049:
      return failure(Code::misconfigured,
                     "there is no such database" + said + "; write mysql://…/DATABASE");
    case 1129:
    case 1130: return failure(Code::misconfigured, "it refuses this host" + said);
    case 1040:
    case 1203:
    case 1226:
      return failure(Code::unreachable,
                     "it has no connection left for us" + said +
                         "; raise max_connections (or the user's limit), or use recipe=table, "
                         "which needs no connection for each lock");
    case 1290:
    case 1792:
    case 1836: return failure(Code::unreachable, "it can only be read: is it a replica?" + said);
    case 1021:
    case 1114: return failure(Code::unreachable, "it is full" + said);
    case 1064:
      return failure(Code::misconfigured,
                     "it does not understand us; MariaDB 10.6 or MySQL 8 is needed" + said);
    case 2026: return failure(Code::misconfigured, "TLS" + said);
    default: break;
  }
  return failure(Code::unreachable, error.message);
}

}  // namespace holdfast::internal
