// The settings in an etcd URL.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/url.h"
#include "holdfast/options.h"
#include "wire/endpoint.h"
#include "wire/tls.h"

namespace holdfast::internal::etcd {

struct Settings {
  std::vector<Endpoint> endpoints;  // of one cluster; at least one
  std::string user;
  std::string password;
  std::shared_ptr<const TlsContext> tls;  // null: plain
  std::string prefix;                     // in front of every key
  Duration connect_timeout{};
  Duration request_timeout{};
};

// invalid_argument, with the form of the URL, if it does not parse; misconfigured if a file that it
// names cannot be used.
Result<Settings> settings_from(const Url& url, const ClientOptions& options);

}  // namespace holdfast::internal::etcd
