// Endpoint: one server's address. Endpoints of a URL: "host1:port1,host2,[::1]:port3".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast::internal {

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
  std::string unix_path;  // instead of host and port
  std::string several;    // of a ServerGroup: what to call all of them together

  std::string display() const;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

// Reads a comma-separated list. An empty list is one server on this machine.
Result<std::vector<Endpoint>> parse_endpoints(std::string_view list, std::uint16_t default_port);

}  // namespace holdfast::internal
