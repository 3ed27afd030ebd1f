#include "sql/postgres/settings.h"

#include <algorithm>
#include <array>

#include "sql/url.h"

namespace holdfast::internal::postgres {

namespace {

constexpr std::uint16_t kPort = 5432;
constexpr const char* kForm =
    "write postgres://USER[:PASSWORD]@HOST[:PORT][,HOST[:PORT]…]/DATABASE[?OPTION=VALUE]";
// Where Debian keeps the authorities that the system trusts; libpq before 16 has no name for them.
constexpr const char* kSystemAuthorities = "/etc/ssl/certs/ca-certificates.crt";

// The directory, as PostgreSQL's own programs have it, or the socket in it, whose name ends with the port.
void read_socket(UrlReader& reader, PostgresLogin& login) {
  constexpr std::string_view kSocket = "/.s.PGSQL.";
  const std::string* const path = read_socket_path(reader, login.group != nullptr);
  if (!path) return;
  const std::size_t name = path->rfind(kSocket);
  login.endpoint.unix_path = path->substr(0, name);
  if (name == std::string::npos) return;
  const auto port =
      internal::number_in(std::string_view(*path).substr(name + kSocket.size()), 1, 65535);
  reader.require(port.has_value(), "'" + *path + "' is not a socket of PostgreSQL");
  login.endpoint.port = static_cast<std::uint16_t>(port.value_or(0));
}

void read_tls(UrlReader& reader, const Url& url, PostgresLogin& login) {
  bool wanted = true;
  reader.flag("tls", wanted);
  TlsSettings tls;
  const bool used = reader.tls_options(tls);
  reader.require(wanted || !used, "tls=no, and other options are for TLS");
  if (!used && !(wanted && url.query.contains("tls"))) {
    login.tls = wanted ? "prefer" : "disable";
    return;
  }
  login.tls = tls.verify ? "verify-full" : "require";
  login.ca_file = tls.ca_file;
  if (tls.verify && login.ca_file.empty()) login.ca_file = kSystemAuthorities;
  login.certificate_file = tls.certificate_file;
  login.key_file = tls.key_file;
}

void read_recipe(UrlReader& reader, Settings& settings) {
  constexpr std::array kRecipes{"table", "advisory", "row", "version"};
  reader.text("recipe", settings.recipe);
  reader.flag("pooled", settings.pooled);
  reader.require(std::find(kRecipes.begin(), kRecipes.end(), settings.recipe) != kRecipes.end(),
                 "unknown recipe '" + settings.recipe + "' (there is table, advisory, row)");
  reader.require(!settings.pooled || settings.recipe == "table",
                 "pooled=yes is for recipe=table: the recipe '" + settings.recipe +
                     "' needs a session of its own, which a proxy that pools transactions does "
                     "not give");
}

}  // namespace

Result<Settings> settings_from(const Url& url, const ClientOptions& options) {
  UrlReader reader(url, kForm);
  Settings settings;
  settings.request_timeout = settings.connect_timeout = options.request_timeout;
  settings.login.user = url.user;
  settings.login.password = url.password;
  if (url.path.size() > 1) settings.login.database = url.path.substr(1);
  read_recipe(reader, settings);
  settings.login.group = read_servers(reader, kPort, settings.login.endpoint);
  read_socket(reader, settings.login);
  reader.text("prefix", settings.prefix);
  reader.text("schema", settings.schema);
  reader.text("application_name", settings.login.application);
  reader.flag("tokens", settings.tokens);
  reader.flag("create_schema", settings.create_schema);
  reader.number("connections", settings.connections, 1, 1000);
  settings.connections_given = url.query.contains("connections");
  reader.timeouts(settings.connect_timeout, settings.request_timeout);
  read_tls(reader, url, settings.login);
  if (const Result<void> read = reader.finish(); !read) return read.failure();
  return settings;
}

}  // namespace holdfast::internal::postgres
