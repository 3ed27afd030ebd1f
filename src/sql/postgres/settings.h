// The settings in a PostgreSQL URL.
#pragma once

#include <string>

#include "base/url.h"
#include "holdfast/options.h"
#include "wire/postgres_connection.h"

namespace holdfast::internal::postgres {

struct Settings {
  PostgresLogin login;
  std::string recipe = "table";
  std::string prefix;         // in front of every lock's name
  std::string schema;         // where the tables are; empty: where the login looks first
  bool tokens = true;         // of the recipes that live in a session
  bool pooled = false;        // a proxy that pools transactions is in between
  bool create_schema = true;  // make the tables if they are missing
  std::size_t connections = 4;
  bool connections_given = false;  // by the URL
  Duration connect_timeout{};
  Duration request_timeout{};

  // Names the server.
  Failure failure(Code code, const std::string& why) const {
    return Failure(code, "PostgreSQL at " + login.endpoint.display() + ": " + why);
  }
};

// invalid_argument, with the form of the URL, if it does not parse.
Result<Settings> settings_from(const Url& url, const ClientOptions& options);

}  // namespace holdfast::internal::postgres
