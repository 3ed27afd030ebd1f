#include "engines/zookeeper/settings.h"

#include <optional>

#include "base/url_options.h"

namespace holdfast::internal::zookeeper {

namespace {

constexpr std::uint16_t kPort = 2181;
constexpr std::uint16_t kTlsPort = 2281;

constexpr const char* kForm =
    "write zookeeper://[USER:PASSWORD@]HOST[:PORT][,HOST…][/CHROOT][?OPTION=VALUE]";
constexpr const char* kOptions =
    "acl, connect_timeout_ms, command_timeout_ms; with zookeeper+tls: ca, cert, key, verify";

using Problem = std::optional<std::string>;

Problem take_access(const std::string& value, Settings& settings) {
  if (value == "open") {
    settings.access = {.scheme = "world", .id = "anyone"};
    return std::nullopt;
  }
  if (value != "creator") return "acl is 'open' or 'creator', not '" + value + "'";
  if (settings.login.empty()) return "acl=creator needs a login (USER:PASSWORD@)";
  settings.access = {.scheme = "auth", .id = ""};
  return std::nullopt;
}

struct TlsOptions {
  TlsSettings settings;
  bool used = false;
};

Problem take_tls(const std::string& key, const std::string& value, TlsOptions& tls) {
  tls.used = true;
  if (key == "ca") tls.settings.ca_file = value;
  if (key == "cert") tls.settings.certificate_file = value;
  if (key == "key") tls.settings.key_file = value;
  if (key != "verify") return std::nullopt;
  return take_flag(key, value, tls.settings.verify);
}

// What is wrong with an option, if anything.
Problem take_option(const std::string& key, const std::string& value, Settings& settings,
                    TlsOptions& tls) {
  if (value.empty()) return "the option '" + key + "' is empty";
  if (key == "acl") return take_access(value, settings);
  if (key == "connect_timeout_ms") return take_time(key, value, settings.connect_timeout);
  if (key == "command_timeout_ms") return take_time(key, value, settings.request_timeout);
  if (key == "ca" || key == "cert" || key == "key" || key == "verify") {
    return take_tls(key, value, tls);
  }
  return "unknown option '" + key + "' (there is " + kOptions + ")";
}

Problem take_chroot(std::string path, Settings& settings) {
  while (path.ends_with('/')) path.pop_back();
  if (path.empty()) return std::nullopt;
  for (std::size_t begin = 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") {
      return "the chroot '" + path + "' has an empty part, '.' or '..'";
    }
    for (const char c : part) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
        return "the chroot has control characters";
      }
    }
    begin = end + 1;
  }
  if (path == "/zookeeper" || path.starts_with("/zookeeper/")) {
    return "the chroot /zookeeper is ZooKeeper's own";
  }
  settings.chroot = std::move(path);
  return std::nullopt;
}

}  // namespace

Result<Settings> settings_from(const Url& url, const ClientOptions& options) {
  const auto invalid = [](const std::string& why) {
    return Failure(Code::invalid_argument, why + "; " + kForm);
  };
  Settings settings;
  if (!url.has_authority) return invalid("'" + url.scheme + ":' must be followed by //");
  const bool encrypted = url.scheme.ends_with("+tls") || url.scheme == "zks";
  settings.request_timeout = options.request_timeout;
  settings.connect_timeout = options.request_timeout;
  if (url.user.empty() != url.password.empty()) {
    return invalid("a login has a user and a password, USER:PASSWORD@");
  }
  if (!url.user.empty()) settings.login = url.user + ":" + url.password;
  settings.access = settings.login.empty() ? Access{.scheme = "world", .id = "anyone"}
                                           : Access{.scheme = "auth", .id = ""};
  Result<std::vector<Endpoint>> endpoints =
      parse_endpoints(url.hosts, encrypted ? kTlsPort : kPort);
  if (!endpoints) return invalid(endpoints.message());
  settings.endpoints = std::move(endpoints).value();
  if (const Problem problem = take_chroot(url.path, settings)) return invalid(*problem);
  TlsOptions tls;
  for (const auto& [key, value] : url.query) {
    if (const Problem problem = take_option(key, value, settings, tls)) return invalid(*problem);
  }
  if (tls.used && !encrypted) {
    return invalid("ca, cert, key and verify are for TLS: write zookeeper+tls");
  }
  if (encrypted) {
    Result<std::shared_ptr<const TlsContext>> context = TlsContext::make(tls.settings);
    if (!context) return context.failure();
    settings.tls = std::move(context).value();
  }
  return settings;
}

}  // namespace holdfast::internal::zookeeper
