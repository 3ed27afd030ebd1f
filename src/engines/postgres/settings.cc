#include "engines/postgres/settings.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/url_options.h"
#include "wire/server_group.h"

namespace holdfast::internal::postgres {

namespace {

constexpr std::uint16_t kPort = 5432;
constexpr const char* kForm =
    "write postgres://USER[:PASSWORD]@HOST[:PORT][,HOST[:PORT]…]/DATABASE[?OPTION=VALUE]";
constexpr const char* kOptions =
    "recipe, pooled, socket, prefix, schema, tokens, create_schema, connections, "
    "connect_timeout_ms, "
    "command_timeout_ms, tls, ca, cert, key, verify, application_name";
// Where Debian keeps the authorities that the system trusts; libpq before 16 has no name for them.
constexpr const char* kSystemAuthorities = "/etc/ssl/certs/ca-certificates.crt";

// The options after the question mark.
class Query {
 public:
  explicit Query(Settings& settings) : settings_(settings) {}

  // What is wrong with an option, if anything.
  std::optional<std::string> take(const std::string& key, const std::string& value) {
    if (value.empty()) return "the option '" + key + "' is empty";
    if (key == "recipe") return settings_.recipe = value, std::nullopt;
    if (key == "socket") return take_socket(value);
    if (key == "prefix") return settings_.prefix = value, std::nullopt;
    if (key == "schema") return settings_.schema = value, std::nullopt;
    if (key == "application_name") return settings_.login.application = value, std::nullopt;
    if (key == "tokens") return take_flag(key, value, settings_.tokens);
    if (key == "pooled") return take_flag(key, value, settings_.pooled);
    if (key == "create_schema") return take_flag(key, value, settings_.create_schema);
    if (key == "tls") return take_flag(key, value, tls_.emplace());
    if (key == "verify") return take_flag(key, value, verify_.emplace());
    if (key == "ca") return settings_.login.ca_file = value, std::nullopt;
    if (key == "cert") return settings_.login.certificate_file = value, std::nullopt;
    if (key == "key") return settings_.login.key_file = value, std::nullopt;
    if (key == "connect_timeout_ms") return take_time(key, value, settings_.connect_timeout);
    if (key == "command_timeout_ms") return take_time(key, value, settings_.request_timeout);
    if (key == "connections") return take_connections(value);
    return "unknown option '" + key + "' (there is " + kOptions + ")";
  }

  std::optional<std::string> settle_tls() {
    PostgresLogin& login = settings_.login;
    const bool wanted = verify_ || !login.ca_file.empty() || !login.certificate_file.empty() ||
                        tls_.value_or(false);
    if (!wanted) {
      login.tls = tls_ ? "disable" : "prefer";
      return std::nullopt;
    }
    if (tls_ && !*tls_) return "tls=no, and other options are for TLS";
    login.tls = verify_.value_or(true) ? "verify-full" : "require";
    if (verify_.value_or(true) && login.ca_file.empty()) login.ca_file = kSystemAuthorities;
    return std::nullopt;
  }

 private:
  // The directory, as PostgreSQL's own programs have it, or the socket in it, whose name ends with
  // the port.
  std::optional<std::string> take_socket(const std::string& path) {
    constexpr std::string_view kSocket = "/.s.PGSQL.";
    if (settings_.login.group) return "socket is one server, and there are several hosts";
    Endpoint& endpoint = settings_.login.endpoint;
    const std::size_t name = path.rfind(kSocket);
    endpoint.unix_path = path.substr(0, name);
    if (name == std::string::npos) return std::nullopt;
    const auto port = number_in(std::string_view(path).substr(name + kSocket.size()), 1, 65535);
    if (!port) return "'" + path + "' is not a socket of PostgreSQL";
    endpoint.port = static_cast<std::uint16_t>(*port);
    return std::nullopt;
  }
  std::optional<std::string> take_connections(const std::string& value) {
    const auto count = number_in(value, 1, 1000);
    if (!count) return "connections is a number from 1 to 1000, not '" + value + "'";
    settings_.connections = static_cast<std::size_t>(*count);
    settings_.connections_given = true;
    return std::nullopt;
  }

  Settings& settings_;
  std::optional<bool> tls_;
  std::optional<bool> verify_;
};

}  // namespace

Result<Settings> settings_from(const Url& url, const ClientOptions& options) {
  const auto invalid = [](const std::string& why) {
    return Failure(Code::invalid_argument, why + "; " + kForm);
  };
  if (!url.has_authority) return invalid("'" + url.scheme + ":' must be followed by //");
  Settings settings;
  settings.request_timeout = options.request_timeout;
  settings.connect_timeout = options.request_timeout;
  settings.login.user = url.user;
  settings.login.password = url.password;
  const Result<std::vector<Endpoint>> endpoints = parse_endpoints(url.hosts, kPort);
  if (!endpoints) return invalid(endpoints.message());
  if (endpoints->size() > ServerGroup::kMost) return invalid("there are more than 16 servers");
  settings.login.endpoint = endpoints->front();
  if (endpoints->size() > 1) {
    settings.login.group = std::make_shared<ServerGroup>(*endpoints);
    settings.login.endpoint = settings.login.group->together();
  }
  if (url.path.size() > 1) settings.login.database = url.path.substr(1);
  Query query(settings);
  for (const auto& [key, value] : url.query) {
    if (const auto problem = query.take(key, value)) return invalid(*problem);
  }
  if (const auto problem = query.settle_tls()) return invalid(*problem);
  constexpr std::array kRecipes{"table", "advisory", "row", "version"};
  if (std::find(kRecipes.begin(), kRecipes.end(), settings.recipe) == kRecipes.end()) {
    return invalid("unknown recipe '" + settings.recipe + "' (there is table, advisory, row)");
  }
  if (settings.pooled && settings.recipe != "table") {
    return invalid(
        "pooled=yes is for recipe=table: the recipe '" + settings.recipe +
        "' needs a session of its own, which a proxy that pools transactions does not give");
  }
  return settings;
}

}  // namespace holdfast::internal::postgres
