// The settings in a MySQL URL.
#pragma once

#include <string>

#include "base/url.h"
#include "holdfast/options.h"
#include "wire/mariadb_connection.h"

namespace holdfast::internal::mysql {

enum class RecipeName { table, named, row };

struct Settings {
  MariadbSettings connection;
  RecipeName recipe = RecipeName::table;
  Duration request_timeout{};
  std::string prefix;  // in front of every name
  bool tokens = true;
  bool create_schema = true;
  std::size_t connections = 100'000;  // at most so many at a time
  std::size_t idle_connections = 16;  // of them so many may wait for use

  // Names the server.
  Failure failure(Code code, const std::string& why) const {
    return Failure(code, "MySQL at " + connection.endpoint.display() + ": " + why);
  }
};

// invalid_argument, with the form of the URL, if it does not parse.
Result<Settings> settings_from(const Url& url, const ClientOptions& options);

}  // namespace holdfast::internal::mysql
