#include "engines/sqlite/wake_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <system_error>

#include "engines/sqlite/shared_files.h"
#include "wire/sqlite.h"

namespace holdfast::internal {

namespace {

// As it travels between processes of one machine, which share byte order and the boot clock.
struct Packet {
  std::uint8_t version = 1;
  std::uint8_t granted = 0;
  std::uint8_t claim[ClaimId::kBytes] = {};
  std::uint8_t unused[6] = {};
  std::uint64_t token = 0;
  std::int64_t counted_from_ns = 0;
  std::int64_t ttl_ns = 0;
};

int open_socket() {
  const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "socket");
  return descriptor;
}

sockaddr_un to_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}

}  // namespace

WakeSocket::WakeSocket(const std::filesystem::path& database, Runtime& runtime, ProcessId me,
                       const Ownership& ownership)
    : directory_(database.string() + "-wake"), runtime_(runtime), me_(me), ownership_(ownership) {}

WakeSocket::~WakeSocket() {
  if (receiver_) unlink(address_of(me_).c_str());
  receiver_.reset();
  if (sender_ >= 0) close(sender_);
  if (directory_descriptor_ >= 0) close(directory_descriptor_);
}

std::string WakeSocket::address_of(ProcessId process) const {
  // Through a descriptor, because a socket's address has room for 107 characters only, and the
  // database may be anywhere.
  return "/proc/self/fd/" + std::to_string(directory_descriptor_) + "/" + std::to_string(process);
}

void WakeSocket::make_directory() {
  if (directory_descriptor_ >= 0) return;
  if (ownership_.group) {
    make_shared_directory(directory_.string(), *ownership_.group);
  } else if (mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) {
    throw std::system_error(errno, std::generic_category(), directory_.string());
  }
  const int descriptor = open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) {
    throw std::system_error(errno, std::generic_category(), directory_.string());
  }
  struct stat status{};
  fstat(descriptor, &status);
  try {
    require_directory(status, directory_.string(), ownership_);
  } catch (const sqlite::Error& error) {
    close(descriptor);
    throw std::system_error(EPERM, std::generic_category(), error.what());
  }
  directory_descriptor_ = descriptor;
}

void WakeSocket::listen(OnMessage on_message) {
  if (receiver_) return;
  make_directory();
  const int descriptor = open_socket();
  const auto try_bind = [&] {
    const sockaddr_un address = to_address(address_of(me_));
    return bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  };
  if (!try_bind() && !(errno == ENOENT && find_directory_again() && try_bind())) {
    const int error = errno;
    close(descriptor);
    throw std::system_error(error, std::generic_category(), "socket in " + directory_.string());
  }
  try {
    if (ownership_.group) share_socket(address_of(me_));
  } catch (...) {
    close(descriptor);
    throw;
  }
  receiver_ = std::make_unique<DescriptorWatch>(
      runtime_, descriptor, [this, callback = std::move(on_message)] { receive(callback); });
}

void WakeSocket::forget(ProcessId process) {
  // By the descriptor that was checked: in a directory of a group a member could put a link in its place, and the
  // number into the database, and have us remove a file of that name elsewhere.
  try {
    make_directory();
    unlink(address_of(process).c_str());
  } catch (const std::system_error&) {
    // It stays, and harms nobody.
  }
}

void WakeSocket::receive(const OnMessage& on_message) {
  const int descriptor = receiver_->descriptor();
  // One at a time: the watch calls again while there are more.
  Packet packet;
  if (recv(descriptor, &packet, sizeof packet, 0) != sizeof packet) return;
  if (packet.version != Packet{}.version) return;
  std::array<std::uint8_t, ClaimId::kBytes> claim{};
  std::memcpy(claim.data(), packet.claim, claim.size());
  WakeMessage message{ClaimId(claim), std::nullopt};
  if (packet.granted) {
    message.grant = Grant{Token(packet.token), BootTime(Duration(packet.counted_from_ns)),
                          Duration(packet.ttl_ns)};
  }
  on_message(message);
}

bool WakeSocket::send(ProcessId to, const WakeMessage& message) {
  make_directory();
  if (sender_ < 0) sender_ = open_socket();
  Packet packet;
  std::memcpy(packet.claim, message.claim.bytes().data(), sizeof packet.claim);
  if (message.grant) {
    packet.granted = 1;
    packet.token = message.grant->token.value();
    packet.counted_from_ns = message.grant->counted_from.time_since_epoch().count();
    packet.ttl_ns = message.grant->ttl.count();
  }
  const auto try_send = [&] {
    const sockaddr_un address = to_address(address_of(to));
    return sendto(sender_, &packet, sizeof packet, MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&address), sizeof address) >= 0;
  };
  if (try_send()) return true;
  if (errno == ENOENT && find_directory_again() && try_send()) return true;
  if (errno == EAGAIN || errno == ENOBUFS) return false;
  // Left behind by a process that was killed.
  if (errno == ECONNREFUSED) unlink(address_of(to).c_str());
  return true;
}

bool WakeSocket::find_directory_again() {
  // Somebody may have removed it, and another process made it anew.
  if (directory_descriptor_ >= 0) close(directory_descriptor_);
  directory_descriptor_ = -1;
  make_directory();
  return true;
}

}  // namespace holdfast::internal
