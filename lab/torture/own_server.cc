// A server of the user's: only clients are stopped and killed there, and, where they are plain TCP,
// the ways to it go through proxies of ours.
#include <algorithm>
#include <map>
#include <utility>

#include "base/url.h"
#include "lab/torture/profile.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;
using internal::Url;

class OwnServer : public SiteServer {
 public:
  OwnServer(std::string host, int port) : host_(std::move(host)), port_(port) {}

  int port() const override { return port_; }
  std::unique_ptr<test::Proxy> new_way() const override {
    return std::make_unique<test::Proxy>(host_, port_);
  }
  bool alive() override { return true; }

 private:
  const std::string host_;
  const int port_;
};

using Hosts = std::vector<std::pair<std::string, int>>;

// Where the hosts are in the text of a URL with an authority.
std::pair<std::size_t, std::size_t> place_of_hosts(const std::string& url) {
  const std::size_t begin = url.find("://") + 3;
  const std::size_t end = std::min(url.find_first_of("/?", begin), url.size());  // As Url::parse().
  const std::size_t login = url.substr(begin, end - begin).rfind('@');
  return {login == std::string::npos ? begin : begin + login + 1, end};
}

// "a,b:7,[::1]:8"; nothing if a port is none.
std::optional<Hosts> split(const std::string& text, int usual_port) {
  Hosts hosts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::string host = text.substr(at, end - at);
    int port = usual_port;
    const std::size_t colon = host.rfind(':');
    if (colon != std::string::npos && host.find(']', colon) == std::string::npos) {
      const std::string digits = host.substr(colon + 1);
      if (digits.empty() || digits.size() > 5 ||
          digits.find_first_not_of("0123456789") != std::string::npos) {
        return std::nullopt;
      }
      port = std::stoi(digits);
      host.resize(colon);
    }
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (host.empty() || port == 0 || port > 65535) return std::nullopt;
    hosts.emplace_back(host, port);
    at = end + 1;
  }
  return hosts;
}

// The hosts, if proxies can stand between them and us. Not where certificates carry the host's name,
// nor where servers tell their clients whom to talk to next.
std::optional<Hosts> hosts_behind_proxies(const Url& url) {
  static const std::map<std::string, int> kUsualPorts = {
      {"redis", 6379},      {"redlock", 6379}, {"memcached", 11211}, {"quorum+memcached", 11211},
      {"zookeeper", 2181},  {"zk", 2181},      {"etcd", 2379},       {"postgres", 5432},
      {"postgresql", 5432}, {"mysql", 3306},   {"mariadb", 3306}};
  const auto port = kUsualPorts.find(url.scheme);
  if (port == kUsualPorts.end() || !url.has_authority) return std::nullopt;
  for (const char* option : {"socket", "ca", "cert", "tls", "sslmode"}) {
    if (url.query.contains(option)) return std::nullopt;
  }
  return split(url.hosts, port->second);
}

std::unique_ptr<Site> open_direct(const std::string& url) {
  return std::make_unique<Site>(
      std::vector<std::unique_ptr<SiteServer>>(), [url](const std::vector<int>&) { return url; },
      false);
}

std::unique_ptr<Site> open_behind_proxies(const std::string& url, const Hosts& hosts) {
  std::vector<std::unique_ptr<SiteServer>> servers;
  for (const auto& [host, port] : hosts) servers.push_back(std::make_unique<OwnServer>(host, port));
  return std::make_unique<Site>(std::move(servers), [url](const std::vector<int>& ports) {
    std::string ways;
    for (const int port : ports) {
      ways += (ways.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
    }
    const auto [begin, end] = place_of_hosts(url);
    return url.substr(0, begin) + ways + url.substr(end);
  });
}

}  // namespace

Profile profile_of_url(const std::string& url) {
  const Result<Url> parts = Url::parse(url);
  Profile profile{.name = parts         ? parts->scheme
                          : url.empty() ? "sqlite"
                                        : "URL",
                  .about = "your own",
                  .ttl = 5s,
                  .users_own = true,
                  .missing = [] { return std::optional<std::string>(); },
                  .open = [url](const SiteOptions&) { return open_direct(url); }};
  if (!parts) return profile;  // An empty one is the default; any other is refused when opened.
  profile.quorum = parts->scheme.starts_with("redlock") || parts->scheme.starts_with("quorum+");
  if (const auto hosts = hosts_behind_proxies(*parts)) {
    profile.can = {Can::cut_links};
    profile.open = [url, hosts = *hosts](const SiteOptions&) {
      return open_behind_proxies(url, hosts);
    };
  }
  return profile;
}

}  // namespace holdfast::lab
