// The settings in a Redis URL.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/url.h"
#include "engines/redis/connection.h"
#include "holdfast/options.h"

namespace holdfast::internal::redis {

enum class Layout { single, sentinel, cluster };

struct Settings {
  Layout layout = Layout::single;
  std::vector<Endpoint> endpoints;  // the server; the sentinels; some nodes of the cluster
  std::string master;               // its name among the sentinels
  Login sentinel_login;
  ConnectionSettings connection;
  Duration request_timeout{};
  std::string prefix;  // in front of every key
  int wait_replicas = 0;
};

// invalid_argument with the form of the URL if it does not parse; misconfigured if a certificate
// cannot be used.
// `form` is how such a URL is written, for messages; null: as those of Redis are.
Result<Settings> settings_from(const Url& url, const ClientOptions& options,
                               const char* form = nullptr);

}  // namespace holdfast::internal::redis
