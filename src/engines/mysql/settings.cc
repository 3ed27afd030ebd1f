#include "engines/mysql/settings.h"

#include <optional>

#include "base/url_options.h"
#include "wire/server_group.h"

namespace holdfast::internal::mysql {

namespace {

constexpr std::uint16_t kPort = 3306;
constexpr std::size_t kMostPrefix = 200;

constexpr const char* kForm =
    "write mysql://USER:PASSWORD@HOST[:PORT][,HOST[:PORT]…]/DATABASE[?recipe=table|named|row]"
    "[&OPTION=VALUE]";
constexpr const char* kOptions =
    "recipe, socket, prefix, tokens, create_schema, connections, connect_timeout_ms, "
    "command_timeout_ms, tls, ca, cert, key, verify";

// The options after the question mark.
class Query {
 public:
  explicit Query(Settings& settings) : settings_(settings) {}

  // What is wrong with an option, if anything.
  std::optional<std::string> take(const std::string& key, const std::string& value) {
    if (value.empty()) return "the option '" + key + "' is empty";
    if (key == "recipe") return take_recipe(value);
    if (key == "socket") {
      if (settings_.connection.group) return "socket is one server, and there are several hosts";
      settings_.connection.endpoint = Endpoint{.host = "localhost", .port = 0, .unix_path = value};
      return std::nullopt;
    }
    if (key == "prefix") return take_prefix(value);
    if (key == "tokens") return take_flag(key, value, settings_.tokens);
    if (key == "create_schema") return take_flag(key, value, settings_.create_schema);
    if (key == "connections") return take_connections(value);
    if (key == "connect_timeout_ms") {
      return take_time(key, value, settings_.connection.connect_timeout);
    }
    if (key == "command_timeout_ms") return take_time(key, value, settings_.request_timeout);
    if (key == "tls") return take_flag(key, value, tls_wanted_);
    if (key == "ca") return tls_used_ = true, tls_.ca_file = value, std::nullopt;
    if (key == "cert") return tls_used_ = true, tls_.certificate_file = value, std::nullopt;
    if (key == "key") return tls_used_ = true, tls_.key_file = value, std::nullopt;
    if (key == "verify") return tls_used_ = true, take_flag(key, value, tls_.verify);
    return "unknown option '" + key + "' (there is " + kOptions + ")";
  }

  std::optional<std::string> finish() {
    if (tls_used_ && !tls_wanted_) return "ca, cert, key and verify are for TLS: add tls=yes";
    if (tls_wanted_) settings_.connection.tls = tls_;
    return std::nullopt;
  }

 private:
  std::optional<std::string> take_recipe(const std::string& value) {
    if (value == "table") return settings_.recipe = RecipeName::table, std::nullopt;
    if (value == "named") return settings_.recipe = RecipeName::named, std::nullopt;
    if (value == "row") return settings_.recipe = RecipeName::row, std::nullopt;
    if (value == "version") {
      return "the recipe 'version' holds no lock: it is an API of its own, see "
             "holdfast/versioned.h";
    }
    return "recipe is table, named or row, not '" + value + "'";
  }
  std::optional<std::string> take_prefix(const std::string& value) {
    if (value.size() > kMostPrefix) {
      return "prefix is at most " + std::to_string(kMostPrefix) + " bytes long";
    }
    settings_.prefix = value;
    return std::nullopt;
  }
  std::optional<std::string> take_connections(const std::string& value) {
    const auto count = number_in(value, 2, 100'000);
    if (!count) return "connections is a number from 2 to 100000, not '" + value + "'";
    settings_.connections = static_cast<std::size_t>(*count);
    return std::nullopt;
  }

  Settings& settings_;
  TlsSettings tls_;
  bool tls_used_ = false;
  bool tls_wanted_ = false;
};

}  // namespace

Result<Settings> settings_from(const Url& url, const ClientOptions& options) {
  const auto invalid = [](const std::string& why) {
    return Failure(Code::invalid_argument, why + "; " + kForm);
  };
  if (!url.has_authority) return invalid("'" + url.scheme + ":' must be followed by //");
  Settings settings;
  settings.request_timeout = options.request_timeout;
  settings.connection.connect_timeout = options.request_timeout;
  settings.connection.user = url.user;
  settings.connection.password = url.password;
  const Result<std::vector<Endpoint>> endpoints = parse_endpoints(url.hosts, kPort);
  if (!endpoints) return invalid(endpoints.message());
  if (endpoints->size() > ServerGroup::kMost) return invalid("there are more than 16 servers");
  settings.connection.endpoint = endpoints->front();
  if (endpoints->size() > 1) {
    settings.connection.group = std::make_shared<ServerGroup>(*endpoints);
    settings.connection.endpoint = settings.connection.group->together();
  }
  std::string database = url.path;
  if (database.starts_with('/')) database.erase(0, 1);
  if (database.empty()) return invalid("the database is missing");
  if (database.find('/') != std::string::npos) {
    return invalid("'" + database + "' is not the name of a database");
  }
  settings.connection.database = database;
  Query query(settings);
  for (const auto& [key, value] : url.query) {
    if (const auto problem = query.take(key, value)) return invalid(*problem);
  }
  if (const auto problem = query.finish()) return invalid(*problem);
  return settings;
}

}  // namespace holdfast::internal::mysql
