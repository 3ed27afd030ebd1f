#include "engines/redis/settings.h"

#include "engines/kit/url_reader.h"

namespace holdfast::internal::redis {

namespace {

constexpr std::uint16_t kPort = 6379;
constexpr std::uint16_t kSentinelPort = 26379;

constexpr const char* kForm =
    "write redis[s]://HOST[:PORT][/DATABASE], "
    "redis[s]+sentinel://HOST,HOST,HOST/MASTER[/DATABASE] or redis[s]+cluster://HOST,HOST,HOST; a "
    "login goes in front of the first HOST";

// "/DATABASE", or "/MASTER/DATABASE" with sentinels.
void read_path(UrlReader& reader, std::string_view path, Settings& settings) {
  if (path.starts_with('/')) path.remove_prefix(1);
  if (settings.layout == Layout::sentinel) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    settings.master = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    reader.require(!settings.master.empty(), "the name of the master is missing");
  }
  if (path.empty()) return;
  const auto database = number_in(path, 0, 1'000'000);
  reader.require(database.has_value(), "the database '" + std::string(path) + "' is not a number");
  reader.require(settings.layout != Layout::cluster || database == 0,
                 "a cluster has no database but 0");
  settings.connection.login.database = database.value_or(0);
}

}  // namespace

Result<Settings> settings_from(const Url& url, const ClientOptions& options, const char* form) {
  UrlReader reader(url, form ? form : kForm);
  Settings settings;
  Login& login = settings.connection.login;
  Login& sentinel = settings.sentinel_login;
  const std::string_view scheme = url.scheme;
  if (scheme.ends_with("+sentinel")) settings.layout = Layout::sentinel;
  if (scheme.ends_with("+cluster")) settings.layout = Layout::cluster;
  settings.request_timeout = settings.connection.connect_timeout = options.request_timeout;
  login.user = url.user;
  login.password = url.password;
  login.client_name = sentinel.client_name = "holdfast";

  settings.endpoints = reader.servers(settings.layout == Layout::sentinel ? kSentinelPort : kPort);
  reader.require(url.user.empty() || !url.password.empty(),
                 "there is a user without a password (a password alone is :PASSWORD@)");
  reader.require(settings.layout != Layout::single || settings.endpoints.size() == 1,
                 "there are several servers; say redis+cluster:// or redis+sentinel://");
  read_path(reader, url.path, settings);
  if (const std::string* socket = reader.option("socket")) {
    reader.require(settings.layout == Layout::single, "socket is for a single server only");
    settings.endpoints = {Endpoint{.host = "localhost", .port = 0, .unix_path = *socket}};
  }
  reader.text("prefix", settings.prefix);
  reader.number("wait_replicas", settings.wait_replicas, 1, 100);
  reader.text("client_name", login.client_name);
  reader.timeouts(settings.connection.connect_timeout, settings.request_timeout);
  reader.text("sentinel_user", sentinel.user);
  reader.text("sentinel_password", sentinel.password);
  settings.connection.tls = reader.tls(scheme.starts_with("rediss"), "rediss");
  if (const Result<void> read = reader.finish(); !read) return read.failure();
  return settings;
}

}  // namespace holdfast::internal::redis
