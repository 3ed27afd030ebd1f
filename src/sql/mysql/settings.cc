#include "sql/mysql/settings.h"

#include "sql/url.h"

namespace holdfast::internal::mysql {

namespace {

constexpr std::uint16_t kPort = 3306;
constexpr std::size_t kMaxPrefix = 200;

constexpr const char* kForm =
    "write mysql://USER:PASSWORD@HOST[:PORT][,HOST[:PORT]…]/DATABASE[?recipe=table|named|row]"
    "[&OPTION=VALUE]";

void read_socket(UrlReader& reader, MariadbSettings& connection) {
  if (const std::string* path = read_socket_path(reader, connection.group != nullptr)) {
    connection.endpoint = Endpoint{.host = "localhost", .port = 0, .unix_path = *path};
  }
}

void read_recipe(UrlReader& reader, RecipeName& recipe) {
  const std::string* const name = reader.option("recipe");
  if (!name || *name == "table") return;
  reader.require(*name != "version",
                 "the recipe 'version' holds no lock: it is an API of its own, see "
                 "holdfast/versioned.h");
  reader.require(*name == "named" || *name == "row",
                 "recipe is table, named or row, not '" + *name + "'");
  recipe = *name == "named" ? RecipeName::named : RecipeName::row;
}

}  // namespace

Result<Settings> settings_from(const Url& url, const ClientOptions& options) {
  UrlReader reader(url, kForm);
  Settings settings;
  MariadbSettings& connection = settings.connection;
  settings.request_timeout = connection.connect_timeout = options.request_timeout;
  connection.user = url.user;
  connection.password = url.password;
  connection.database = url.path.substr(url.path.starts_with('/') ? 1 : 0);
  read_recipe(reader, settings.recipe);
  connection.group = read_servers(reader, kPort, connection.endpoint);
  read_socket(reader, connection);
  reader.require(!connection.database.empty(), "the database is missing");
  reader.require(connection.database.find('/') == std::string::npos,
                 "'" + connection.database + "' is not the name of a database");
  reader.text("prefix", settings.prefix, kMaxPrefix);
  reader.flag("tokens", settings.tokens);
  reader.flag("create_schema", settings.create_schema);
  reader.number("connections", settings.connections, 2, 100'000);
  reader.timeouts(connection.connect_timeout, settings.request_timeout);
  bool encrypted = false;
  reader.flag("tls", encrypted);
  TlsSettings tls;
  const bool tls_used = reader.tls_options(tls);
  reader.require(encrypted || !tls_used, "ca, cert, key and verify are for TLS: add tls=yes");
  if (encrypted) connection.tls = tls;
  if (const Result<void> read = reader.finish(); !read) return read.failure();
  return settings;
}

}  // namespace holdfast::internal::mysql
