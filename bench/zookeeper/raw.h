// Raw: what a program without any recipe would do: create an ephemeral sequential node and delete
// it, by hand on one connection.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::bench {

// All calls throw std::runtime_error when the connection fails or the server refuses.
class Raw {
 public:
  explicit Raw(const std::string& host, int port);
  ~Raw();
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;

  // So that nodes can be made below it.
  void make_parent(const std::string& path);
  // Create below `parent` and delete, each a round trip.
  void pair(const std::string& parent);
  // Pairs a second with `count` of them on the way at the same time, each below a parent of its own.
  double flight(int count, double seconds);

 private:
  struct Reply {
    std::int32_t xid;
    std::int32_t error;
    std::string body;
  };
  void append_create(std::int32_t xid, const std::string& path, std::int32_t flags);
  void append_delete(std::int32_t xid, const std::string& path);
  void send();
  Reply receive();
  bool has_reply() const;
  void fill();

  int socket_ = -1;
  std::string unsent_;
  std::string unread_;
};

}  // namespace holdfast::bench
