#include "engines/etcd/settings.h"

#include "engines/kit/url_reader.h"

namespace holdfast::internal::etcd {

Result<Settings> settings_from(const Url& url, const ClientOptions& options) {
  constexpr std::uint16_t kPort = 2379;
  constexpr std::size_t kMaxPrefix = 1024;
  UrlReader reader(url, "write etcd[s]://[USER:PASSWORD@]HOST[:PORT],…[?OPTION=VALUE]");
  Settings settings;
  settings.user = url.user;
  settings.password = url.password;
  settings.endpoints = reader.servers(kPort);
  reader.require(url.user.empty() == url.password.empty(),
                 "a login is a user and a password, USER:PASSWORD@");
  reader.require(url.path.empty() || url.path == "/",
                 "etcd has no path (a prefix of the keys is ?prefix=" + url.path + ")");
  settings.request_timeout = options.request_timeout;
  // A caller that waits for a connection should hear why there is none, and other servers should be tried.
  settings.connect_timeout = options.request_timeout / (settings.endpoints.size() == 1 ? 2 : 3);
  reader.text("prefix", settings.prefix, kMaxPrefix);
  reader.timeouts(settings.connect_timeout, settings.request_timeout);
  settings.tls = reader.tls(url.scheme == "etcds", "etcds", "h2");
  if (const Result<void> read = reader.finish(); !read) return read.failure();
  return settings;
}

}  // namespace holdfast::internal::etcd
