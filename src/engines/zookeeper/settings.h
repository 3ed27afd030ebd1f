// The settings in a ZooKeeper URL.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/url.h"
#include "engines/zookeeper/packets.h"
#include "holdfast/options.h"
#include "wire/endpoint.h"
#include "wire/tls.h"

namespace holdfast::internal::zookeeper {

struct Settings {
  std::vector<Endpoint> endpoints;
  std::string chroot;                     // "" or "/a/b": all paths lie under it
  std::string login;                      // "user:password" for the scheme digest; empty: none
  Access access;                          // of the nodes that we make
  std::shared_ptr<const TlsContext> tls;  // null: plain
  Duration connect_timeout{};             // to one server
  Duration request_timeout{};
};

// invalid_argument, with the form of the URL, if it does not parse.
Result<Settings> settings_from(const Url& url, const ClientOptions& options);

}  // namespace holdfast::internal::zookeeper
