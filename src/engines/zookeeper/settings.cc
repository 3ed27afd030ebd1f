#include "engines/zookeeper/settings.h"

#include <algorithm>

#include "engines/kit/url_reader.h"

namespace holdfast::internal::zookeeper {

namespace {

constexpr std::uint16_t kPort = 2181;
constexpr std::uint16_t kTlsPort = 2281;

constexpr const char* kForm =
    "write zookeeper://[USER:PASSWORD@]HOST[:PORT][,HOST…][/CHROOT][?OPTION=VALUE]";

void read_access(UrlReader& reader, Settings& settings) {
  bool open = settings.login.empty();
  if (const std::string* acl = reader.option("acl")) {
    open = *acl == "open";
    reader.require(open || *acl == "creator", "acl is 'open' or 'creator', not '" + *acl + "'");
    reader.require(open || !settings.login.empty(), "acl=creator needs a login (USER:PASSWORD@)");
  }
  settings.access =
      open ? Access{.scheme = "world", .id = "anyone"} : Access{.scheme = "auth", .id = ""};
}

bool is_control(unsigned char c) { return c < 0x20 || c == 0x7f; }

void read_chroot(UrlReader& reader, std::string path, Settings& settings) {
  while (path.ends_with('/')) path.pop_back();
  for (std::size_t begin = 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    reader.require(!part.empty() && part != "." && part != "..",
                   "the chroot '" + path + "' has an empty part, '.' or '..'");
    begin = end + 1;
  }
  reader.require(std::none_of(path.begin(), path.end(), is_control),
                 "the chroot has control characters");
  reader.require(path != "/zookeeper" && !path.starts_with("/zookeeper/"),
                 "the chroot /zookeeper is ZooKeeper's own");
  settings.chroot = std::move(path);
}

}  // namespace

Result<Settings> settings_from(const Url& url, const ClientOptions& options) {
  UrlReader reader(url, kForm);
  Settings settings;
  const bool encrypted = url.scheme.ends_with("+tls") || url.scheme == "zks";
  settings.request_timeout = settings.connect_timeout = options.request_timeout;
  settings.endpoints = reader.servers(encrypted ? kTlsPort : kPort);
  reader.require(url.user.empty() == url.password.empty(),
                 "a login has a user and a password, USER:PASSWORD@");
  if (!url.user.empty()) settings.login = url.user + ":" + url.password;
  read_chroot(reader, url.path, settings);
  read_access(reader, settings);
  reader.timeouts(settings.connect_timeout, settings.request_timeout);
  settings.tls = reader.tls(encrypted, "zookeeper+tls");
  if (const Result<void> read = reader.finish(); !read) return read.failure();
  return settings;
}

}  // namespace holdfast::internal::zookeeper
