#include "protocol.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace holdfast::cli {
namespace {

union DescriptorRoom {
  char bytes[CMSG_SPACE(sizeof(int))];
  cmsghdr align;
};

int take_descriptor(msghdr& header) {
  const cmsghdr* control = CMSG_FIRSTHDR(&header);
  if (control == nullptr || control->cmsg_type != SCM_RIGHTS) return -1;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(control), sizeof descriptor);
  return descriptor;
}

}  // namespace

bool send_message(int socket, const void* message, std::size_t size, int descriptor) {
  iovec part{const_cast<void*>(message), size};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  DescriptorRoom room{};
  if (descriptor >= 0) {
    header.msg_control = room.bytes;
    header.msg_controllen = sizeof room.bytes;
    cmsghdr* control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
  }
  ssize_t sent = -1;
  do {
    sent = sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(size);
}

Received receive_message(int socket, void* message, std::size_t size, int* descriptor) {
  iovec part{message, size};
  DescriptorRoom room{};
  msghdr header{};
  ssize_t got = -1;
  do {
    header = {};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = room.bytes;
    header.msg_controllen = sizeof room.bytes;
    got = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    // A peer that ended without reading all we sent is reported once as a reset, before what it
    // sent us itself: read on, its last word counts.
  } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
  if (got < 0 && errno == EAGAIN) return Received::nothing;
  if (got != static_cast<ssize_t>(size)) return Received::closed;
  const int came = take_descriptor(header);
  if (descriptor != nullptr) {
    *descriptor = came;
  } else if (came >= 0) {
    close(came);
  }
  return Received::message;
}

}  // namespace holdfast::cli
