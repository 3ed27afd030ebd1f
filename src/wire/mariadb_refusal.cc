// How it reads to a user that a MySQL or MariaDB server, or the client library, refused a login.
#include "wire/mariadb_connection.h"

namespace holdfast::internal {

namespace {

// The remedy, where an administrator or the author of the URL has to mend something; else empty.
std::string to_be_mended(int number) {
  switch (number) {
    case 1045:  // access denied
    case 1698:
      return "the user or password is wrong, or this user may not come from this host or not "
             "without TLS (tls=yes, "
             "cert=, key=)";
    case 1251:
    case 2059:
      return "the client library has not got the way in which this user logs in; its plug-ins are "
             "in the package "
             "libmariadb3, or give the user caching_sha2_password";
    case 2061: return "the login failed in the client library; tls=yes may help";
    case 1820:
    case 1862: return "the user's password has expired: ALTER USER … IDENTIFIED BY …";
    case 3118:
    case 4151: return "the user is locked: ALTER USER … ACCOUNT UNLOCK";
    case 3159:  // require_secure_transport
    case 4160: return "it takes connections with TLS only: add tls=yes&ca=FILE to the URL";
    case 2026:
      return "TLS failed; ca=FILE names the authority that signed the server's certificate, which "
             "must name this "
             "host; verify=no trusts everybody";
    case 1044:
      return "the user has no right to the database; docs/engines/mysql.md names what it needs";
    case 1049: return "there is no such database; write mysql://…/DATABASE";
    case 1129:
    case 1130: return "it refuses this host";
    default: return "";
  }
}

bool has_no_connection_left(int number) {
  return number == 1040 || number == 1203 || number == 1226;
}

}  // namespace

Failure mariadb_refusal(const SqlError& error, const std::string& where) {
  const std::string place = "MySQL at " + where + ": ";
  const std::string because = " (" + error.message + ")";
  if (const std::string why = to_be_mended(error.number); !why.empty()) {
    return Failure(Code::misconfigured, place + why + because);
  }
  if (!has_no_connection_left(error.number)) {
    return Failure(Code::unreachable, place + error.message);
  }
  return Failure(
      Code::unreachable,
      place +
          "it has no connection left for us; raise max_connections (or the user's limit), or use "
          "recipe=table, which needs no connection for each lock" +
          because);
}

}  // namespace holdfast::internal
