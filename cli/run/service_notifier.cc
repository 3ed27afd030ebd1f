#include "service_notifier.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace holdfast::cli {

ServiceNotifier ServiceNotifier::from_environment() {
  ServiceNotifier notifier;
  if (const char* address = std::getenv("NOTIFY_SOCKET")) notifier.address_ = address;
  unsetenv("NOTIFY_SOCKET");
  return notifier;
}

bool ServiceNotifier::try_tell(const std::string& lines) const { return send(lines, MSG_DONTWAIT); }

bool ServiceNotifier::send(const std::string& lines, int flags) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (address_.empty() || address_.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, address_.data(), address_.size());
  if (address_.front() == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());

  const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return false;
  // A manager that is busy reads it soon; one that hangs must not hang us.
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const ssize_t sent = sendto(descriptor, lines.data(), lines.size(), MSG_NOSIGNAL | flags,
                              reinterpret_cast<const sockaddr*>(&address), size);
  close(descriptor);
  return sent == static_cast<ssize_t>(lines.size());
}

}  // namespace holdfast::cli
