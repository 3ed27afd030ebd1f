#include "wire/address.h"

#include <netdb.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>

namespace holdfast::internal {

std::optional<Address> Address::of_number(const std::string& host, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;  // never asks anybody
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) return {};
  Address address;
  address.size_ = found->ai_addrlen;
  std::memcpy(&address.storage_, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

std::optional<Address> Address::of_path(const std::string& path) {
  if (path.size() > kLongestPath) return {};
  Address address;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.data(), path.size());
  address.size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  std::memcpy(&address.storage_, &name, sizeof name);
  return address;
}

}  // namespace holdfast::internal
