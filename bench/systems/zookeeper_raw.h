// ZooKeeperRaw: what a program without any recipe would do: create an ephemeral sequential node and delete
// it, by hand on one connection.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::bench {

// All calls throw std::runtime_error when the connection fails or the server refuses.
class ZooKeeperRaw {
 public:
  explicit ZooKeeperRaw(const std::string& host, int port);
  ~ZooKeeperRaw();
  ZooKeeperRaw(const ZooKeeperRaw&) = delete;
  ZooKeeperRaw& operator=(const ZooKeeperRaw&) = delete;

  // Makes the node of a lock, below which pair() works.
  void prepare(const std::string& name);
  // Create and delete, each a round trip.
  void pair(const std::string& name);
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
