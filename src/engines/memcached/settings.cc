#include "engines/memcached/settings.h"

#include <optional>

#include "base/url_options.h"
#include "engines/memcached/word.h"

namespace holdfast::internal::memcached {

namespace {

constexpr std::uint16_t kPort = 11211;

constexpr const char* kForm = "write memcached://HOST[:PORT][?OPTION=VALUE]";
constexpr const char* kOptions = "socket, prefix, connect_timeout_ms, command_timeout_ms";

std::optional<std::string> take_prefix(const std::string& value, Settings& settings) {
  if (!is_plain(value) || value.size() > kMostPrefix) {
    return "prefix is at most " + std::to_string(kMostPrefix) +
           " bytes without spaces and control characters";
  }
  settings.prefix = value;
  return std::nullopt;
}

// What is wrong with an option, if anything.
std::optional<std::string> take_option(const std::string& key, const std::string& value,
                                       Settings& settings) {
  if (value.empty()) return "the option '" + key + "' is empty";
  if (key == "socket") {
    settings.endpoint = Endpoint{.host = "localhost", .port = 0, .unix_path = value};
    return std::nullopt;
  }
  if (key == "prefix") return take_prefix(value, settings);
  if (key == "connect_timeout_ms") return take_time(key, value, settings.connect_timeout);
  if (key == "command_timeout_ms") return take_time(key, value, settings.request_timeout);
  return "unknown option '" + key + "' (there is " + kOptions + ")";
}

}  // namespace

Result<Settings> settings_from(const Url& url, const ClientOptions& options, const char* form) {
  const auto invalid = [&](const std::string& why) {
    return Failure(Code::invalid_argument, why + "; " + (form ? form : kForm));
  };
  Settings settings;
  if (!url.has_authority) return invalid("'" + url.scheme + ":' must be followed by //");
  if (!url.user.empty() || !url.password.empty()) {
    return invalid(
        "there is a login, which memcached knows only in its binary protocol (SASL), not in the "
        "meta commands that locks need; protect the server by its network instead");
  }
  settings.request_timeout = options.request_timeout;
  settings.connect_timeout = options.request_timeout;
  const Result<std::vector<Endpoint>> endpoints = parse_endpoints(url.hosts, kPort);
  if (!endpoints) return invalid(endpoints.message());
  if (endpoints->size() != 1) return invalid("there are several servers; say quorum+memcached://");
  settings.endpoint = endpoints->front();
  if (!url.path.empty() && url.path != "/") {
    return invalid("there is a path, '" + url.path + "', and memcached has no databases");
  }
  for (const auto& [key, value] : url.query) {
    if (const auto problem = take_option(key, value, settings)) return invalid(*problem);
  }
  return settings;
}

}  // namespace holdfast::internal::memcached
