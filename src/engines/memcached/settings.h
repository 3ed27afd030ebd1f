// The settings in a memcached URL.
#pragma once

#include <string>

#include "base/url.h"
#include "holdfast/options.h"
#include "wire/endpoint.h"

namespace holdfast::internal::memcached {

struct Settings {
  Endpoint endpoint;
  Duration connect_timeout{};
  Duration request_timeout{};
  std::string prefix;  // in front of every key
};

// invalid_argument, with the form of the URL (`form`, if it is another's), if it does not parse.
Result<Settings> settings_from(const Url& url, const ClientOptions& options,
                               const char* form = nullptr);

}  // namespace holdfast::internal::memcached
