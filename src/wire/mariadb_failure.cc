#include "wire/mariadb_connection.h"

namespace holdfast::internal {

namespace {

// What an administrator or the author of the URL has to mend; empty for anything else.
std::string to_be_mended(int number) {
  switch (number) {
    case 1045:  // access denied
    case 1698:
      return "the user or password is wrong, or this user may not come from this host or not "
             "without "
             "TLS (tls=yes, cert=, key=)";
    case 1251:
    case 2059:
      return "the client library has not got the way in which this user logs in; its plug-ins are "
             "in "
             "the package libmariadb3, or give the user caching_sha2_password";
    case 2061: return "the login failed in the client library; tls=yes may help";
    case 1820:
    case 1862: return "the user's password has expired: ALTER USER … IDENTIFIED BY …";
    case 3118:
    case 4151: return "the user is locked: ALTER USER … ACCOUNT UNLOCK";
    case 3159:  // require_secure_transport
    case 4160: return "it takes connections with TLS only: add tls=yes&ca=FILE to the URL";
    case 2026:
      return "TLS failed; ca=FILE names the authority that signed the server's certificate, which "
             "must name this host; verify=no trusts everybody";
    case 1044:  // no right to the database
    case 1142:  // to the table
    case 1143:
    case 1227:
    case 1370: return "the user lacks rights; docs/engines/mysql.md names what it needs";
    case 1046:
    case 1049: return "there is no such database; write mysql://…/DATABASE";
    case 1129:
    case 1130: return "it refuses this host";
    case 1665: return "set binlog_format to MIXED or ROW";
    case 1064:
    case 1193:  // a variable
    case 1305:  // a function
      return "it does not understand us; MariaDB 10.6 or MySQL 8 is needed";
    default: return "";
  }
}

// What may be over in a while.
std::string may_pass(int number) {
  switch (number) {
    case 1040:
    case 1203:
    case 1226:
      return "it has no connection left for us; raise max_connections (or the user's limit), or "
             "use "
             "recipe=table, which needs no connection for each lock";
    case 1290:
    case 1792:
    case 1836: return "it can only be read: is it a replica?";
    case 1021:
    case 1114: return "it is full";
    default: return "";
  }
}

}  // namespace

Failure mariadb_failure(const SqlError& error, const std::string& where) {
  const std::string place = "MySQL at " + where + ": ";
  if (error.may_have_run) return Failure(Code::unknown, place + error.message);
  if (const std::string why = to_be_mended(error.number); !why.empty()) {
    return Failure(Code::misconfigured, place + why + " (" + error.message + ")");
  }
  const std::string why = may_pass(error.number);
  return Failure(Code::unreachable,
                 place + (why.empty() ? error.message : why + " (" + error.message + ")"));
}

}  // namespace holdfast::internal
