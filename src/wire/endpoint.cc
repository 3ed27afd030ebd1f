#include "wire/endpoint.h"

#include <charconv>

namespace holdfast::internal {

namespace {

Result<Endpoint> parse_endpoint(std::string_view text, std::uint16_t default_port) {
  std::string_view host;
  // Not the whole text: behind its colon may stand a password, of a URL without an @.
  const auto invalid = [&](const char* why) {
    const std::string whose = host.empty() ? "" : "of '" + std::string(host) + "' ";
    return Failure(Code::invalid_argument, "the address " + whose + "cannot be used: " + why);
  };
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return invalid("the bracket is not closed");
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && !port.starts_with(':')) return invalid("after ']' comes :PORT");
  } else if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    if (text.find(':') != colon) return invalid("write an IPv6 address in brackets, [::1]:6379");
    host = text.substr(0, colon);
    port = text.substr(colon);
  } else {
    host = text;
  }
  if (host.empty()) return invalid("the host is missing");
  Endpoint endpoint{.host = std::string(host), .port = default_port};
  if (port.empty()) return endpoint;
  port.remove_prefix(1);
  const auto number = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (number.ec != std::errc() || number.ptr != port.data() + port.size() || endpoint.port == 0) {
    return invalid("the port is not a number from 1 to 65535");
  }
  return endpoint;
}

}  // namespace

std::string Endpoint::display() const {
  if (!several.empty()) return several;
  if (!unix_path.empty()) return unix_path;
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<std::vector<Endpoint>> parse_endpoints(std::string_view list, std::uint16_t default_port) {
  std::vector<Endpoint> endpoints;
  if (list.empty()) {
    endpoints.push_back({.host = "127.0.0.1", .port = default_port});
    return endpoints;
  }
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    Result<Endpoint> endpoint = parse_endpoint(list.substr(begin, end - begin), default_port);
    if (!endpoint) return endpoint.failure();
    endpoints.push_back(std::move(endpoint).value());
    begin = end + 1;
  }
  return endpoints;
}

}  // namespace holdfast::internal
