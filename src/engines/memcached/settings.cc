#include "engines/memcached/settings.h"

#include "engines/kit/url_reader.h"
#include "engines/memcached/word.h"

namespace holdfast::internal::memcached {

Result<Settings> settings_from(const Url& url, const ClientOptions& options, const char* form) {
  constexpr std::uint16_t kPort = 11211;
  UrlReader reader(url, form ? form : "write memcached://HOST[:PORT][?OPTION=VALUE]");
  Settings settings;
  settings.request_timeout = settings.connect_timeout = options.request_timeout;
  const std::vector<Endpoint> servers = reader.servers(kPort);
  settings.endpoint = servers.front();
  reader.require(url.user.empty() && url.password.empty(),
                 "there is a login, which memcached knows only in its binary protocol (SASL), not "
                 "in the meta commands that locks need; protect the server by its network instead");
  reader.require(servers.size() == 1, "there are several servers; say quorum+memcached://");
  reader.require(url.path.empty() || url.path == "/",
                 "there is a path, '" + url.path + "', and memcached has no databases");
  if (const std::string* socket = reader.option("socket")) {
    settings.endpoint = Endpoint{.host = "localhost", .port = 0, .unix_path = *socket};
  }
  if (const std::string* prefix = reader.option("prefix")) {
    reader.require(is_plain(*prefix) && prefix->size() <= kMaxPrefix,
                   "prefix is at most " + std::to_string(kMaxPrefix) +
                       " bytes without spaces and control characters");
    settings.prefix = *prefix;
  }
  reader.timeouts(settings.connect_timeout, settings.request_timeout);
  if (const Result<void> read = reader.finish(); !read) return read.failure();
  return settings;
}

}  // namespace holdfast::internal::memcached
