#include "engines/redis/settings.h"

#include "base/url_options.h"

namespace holdfast::internal::redis {

namespace {

constexpr std::uint16_t kPort = 6379;
constexpr std::uint16_t kSentinelPort = 26379;

constexpr const char* kForm =
    "write redis[s]://HOST[:PORT][/DATABASE], "
    "redis[s]+sentinel://HOST,HOST,HOST/MASTER[/DATABASE] or redis[s]+cluster://HOST,HOST,HOST; a "
    "login goes in front of the first HOST";
constexpr const char* kOptions =
    "socket, prefix, wait_replicas, client_name, connect_timeout_ms, command_timeout_ms, ca, cert, "
    "key, verify, sentinel_user, sentinel_password";

// The options after the question mark.
class Query {
 public:
  Query(Settings& settings, TlsSettings& tls) : settings_(settings), tls_(tls) {}

  // What is wrong with an option, if anything.
  std::optional<std::string> take(const std::string& key, const std::string& value) {
    if (value.empty()) return "the option '" + key + "' is empty";
    if (key == "socket") return take_socket(value);
    if (key == "prefix") return settings_.prefix = value, std::nullopt;
    if (key == "client_name") return settings_.connection.login.client_name = value, std::nullopt;
    if (key == "sentinel_user") return settings_.sentinel_login.user = value, std::nullopt;
    if (key == "sentinel_password") return settings_.sentinel_login.password = value, std::nullopt;
    if (key == "ca") return tls_used = true, tls_.ca_file = value, std::nullopt;
    if (key == "cert") return tls_used = true, tls_.certificate_file = value, std::nullopt;
    if (key == "key") return tls_used = true, tls_.key_file = value, std::nullopt;
    if (key == "verify") return take_verify(value);
    if (key == "wait_replicas") return take_replicas(value);
    if (key == "connect_timeout_ms") {
      return take_time(key, value, settings_.connection.connect_timeout);
    }
    if (key == "command_timeout_ms") return take_time(key, value, settings_.request_timeout);
    return "unknown option '" + key + "' (there is " + kOptions + ")";
  }

  bool tls_used = false;

 private:
  std::optional<std::string> take_socket(const std::string& path) {
    if (settings_.layout != Layout::single) return "socket is for a single server only";
    settings_.endpoints = {Endpoint{.host = "localhost", .port = 0, .unix_path = path}};
    return std::nullopt;
  }
  std::optional<std::string> take_verify(const std::string& value) {
    tls_used = true;
    return take_flag("verify", value, tls_.verify);
  }
  std::optional<std::string> take_replicas(const std::string& value) {
    const auto count = number_in(value, 1, 100);
    if (!count) return "wait_replicas is a number from 1 to 100, not '" + value + "'";
    settings_.wait_replicas = *count;
    return std::nullopt;
  }

  Settings& settings_;
  TlsSettings& tls_;
};

// "/DATABASE", or "/MASTER/DATABASE" with sentinels.
std::optional<std::string> take_path(std::string_view path, Settings& settings) {
  if (path.starts_with('/')) path.remove_prefix(1);
  if (settings.layout == Layout::sentinel) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    settings.master = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (settings.master.empty()) return "the name of the master is missing";
  }
  if (path.empty()) return std::nullopt;
  const auto database = number_in(path, 0, 1'000'000);
  if (!database) return "the database '" + std::string(path) + "' is not a number";
  if (settings.layout == Layout::cluster && *database != 0) {
    return "a cluster has no database but 0";
  }
  settings.connection.login.database = *database;
  return std::nullopt;
}

}  // namespace

Result<Settings> settings_from(const Url& url, const ClientOptions& options, const char* form) {
  const auto invalid = [form](const std::string& why) {
    return Failure(Code::invalid_argument, why + "; " + (form ? form : kForm));
  };
  Settings settings;
  std::string_view scheme = url.scheme;
  const bool encrypted = scheme.starts_with("rediss");
  if (scheme.ends_with("+sentinel")) settings.layout = Layout::sentinel;
  if (scheme.ends_with("+cluster")) settings.layout = Layout::cluster;
  if (!url.has_authority) return invalid("'" + url.scheme + ":' must be followed by //");

  settings.request_timeout = options.request_timeout;
  settings.connection.connect_timeout = options.request_timeout;
  settings.connection.login.user = url.user;
  settings.connection.login.password = url.password;
  settings.connection.login.client_name = "holdfast";
  settings.sentinel_login.client_name = "holdfast";
  if (!url.user.empty() && url.password.empty()) {
    return invalid("there is a user without a password (a password alone is :PASSWORD@)");
  }
  Result<std::vector<Endpoint>> endpoints =
      parse_endpoints(url.hosts, settings.layout == Layout::sentinel ? kSentinelPort : kPort);
  if (!endpoints) return invalid(endpoints.message());
  settings.endpoints = std::move(endpoints).value();
  if (settings.layout == Layout::single && settings.endpoints.size() != 1) {
    return invalid("there are several servers; say redis+cluster:// or redis+sentinel://");
  }
  if (const auto problem = take_path(url.path, settings)) return invalid(*problem);
  TlsSettings tls;
  Query query(settings, tls);
  for (const auto& [key, value] : url.query) {
    if (const auto problem = query.take(key, value)) return invalid(*problem);
  }
  if (query.tls_used && !encrypted) {
    return invalid("ca, cert, key and verify are for TLS: write rediss");
  }
  if (encrypted) {
    Result<std::shared_ptr<const TlsContext>> context = TlsContext::make(tls);
    if (!context) return context.failure();
    settings.connection.tls = std::move(context).value();
  }
  return settings;
}

}  // namespace holdfast::internal::redis
