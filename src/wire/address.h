// Address: where a socket connects to: an IP address with a port, or the path of a unix socket.
// A value.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::internal {

class Address {
 public:
  // "127.0.0.1", "::1", "fe80::1%eth0"; nothing if it is not a number.
  static std::optional<Address> of_number(const std::string& host, std::uint16_t port);
  // Nothing if the path is longer than kLongestPath.
  static std::optional<Address> of_path(const std::string& path);
  static constexpr std::size_t kLongestPath = 107;  // room in sockaddr_un

  int family() const { return storage_.ss_family; }
  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return size_; }

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

}  // namespace holdfast::internal
