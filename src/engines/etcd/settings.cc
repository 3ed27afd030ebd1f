#include "engines/etcd/settings.h"

#include <optional>

#include "base/url_options.h"

namespace holdfast::internal::etcd {

namespace {

constexpr std::uint16_t kPort = 2379;
constexpr std::size_t kMostPrefix = 1024;

constexpr const char* kForm = "write etcd[s]://[USER:PASSWORD@]HOST[:PORT],…[?OPTION=VALUE]";
constexpr const char* kOptions =
    "prefix, connect_timeout_ms, command_timeout_ms, ca, cert, key, verify";

struct Query {
  Settings& settings;
  TlsSettings& tls;
  bool tls_used = false;

  // What is wrong with an option, if anything.
  std::optional<std::string> take(const std::string& key, const std::string& value) {
    if (value.empty()) return "the option '" + key + "' is empty";
    if (key == "prefix") return take_prefix(value);
    if (key == "connect_timeout_ms") return take_time(key, value, settings.connect_timeout);
    if (key == "command_timeout_ms") return take_time(key, value, settings.request_timeout);
    if (key == "ca") return tls_used = true, tls.ca_file = value, std::nullopt;
    if (key == "cert") return tls_used = true, tls.certificate_file = value, std::nullopt;
    if (key == "key") return tls_used = true, tls.key_file = value, std::nullopt;
    if (key == "verify") return take_verify(value);
    return "unknown option '" + key + "' (there is " + kOptions + ")";
  }
  std::optional<std::string> take_prefix(const std::string& value) {
    if (value.size() > kMostPrefix) {
      return "prefix is at most " + std::to_string(kMostPrefix) + " bytes";
    }
    settings.prefix = value;
    return std::nullopt;
  }
  std::optional<std::string> take_verify(const std::string& value) {
    tls_used = true;
    return take_flag("verify", value, tls.verify);
  }
};

}  // namespace

Result<Settings> settings_from(const Url& url, const ClientOptions& options) {
  const auto invalid = [](const std::string& why) {
    return Failure(Code::invalid_argument, why + "; " + kForm);
  };
  if (!url.has_authority) return invalid("'" + url.scheme + ":' must be followed by //");
  const bool encrypted = url.scheme == "etcds";
  Settings settings;
  settings.request_timeout = options.request_timeout;
  settings.user = url.user;
  settings.password = url.password;
  if (url.user.empty() != url.password.empty()) {
    return invalid("a login is a user and a password, USER:PASSWORD@");
  }
  Result<std::vector<Endpoint>> endpoints = parse_endpoints(url.hosts, kPort);
  if (!endpoints) return invalid(endpoints.message());
  settings.endpoints = std::move(endpoints).value();
  if (!url.path.empty() && url.path != "/") {
    return invalid("etcd has no path (a prefix of the keys is ?prefix=" + url.path + ")");
  }
  // Who waits for a connection should hear why there is none, and others should be tried.
  settings.connect_timeout = options.request_timeout / (settings.endpoints.size() == 1 ? 2 : 3);
  TlsSettings tls;
  tls.protocol = "h2";
  Query query{settings, tls};
  for (const auto& [key, value] : url.query) {
    if (const auto problem = query.take(key, value)) return invalid(*problem);
  }
  if (query.tls_used && !encrypted) {
    return invalid("ca, cert, key and verify are for TLS: write etcds");
  }
  if (encrypted) {
    Result<std::shared_ptr<const TlsContext>> context = TlsContext::make(tls);
    if (!context) return context.failure();
    settings.tls = std::move(context).value();
  }
  return settings;
}

}  // namespace holdfast::internal::etcd
