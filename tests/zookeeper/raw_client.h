// RawClient: a ZooKeeper session of a test's own, for what no lock does: blocking, one request at a
// time, over the bytes that the engine speaks. Throws std::runtime_error if the server does not
// answer.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engines/zookeeper/packets.h"

namespace holdfast::zookeeper_tests {

namespace zk = internal::zookeeper;

class RawClient {
 public:
  explicit RawClient(int port, int timeout_ms = 10'000);
  ~RawClient();  // ends the session
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void log_in(const std::string& user_and_password);

  // Each returns what the server said; see the Error of the reply.
  zk::Reply call(zk::Requests request);
  // With all rights for everybody unless `access` says otherwise. The path of what was created.
  std::string create(const std::string& path, const std::string& data = {},
                     zk::CreateMode mode = zk::CreateMode::persistent,
                     const zk::Access& access = {.scheme = "world", .id = "anyone"});
  zk::Error remove(const std::string& path);
  zk::Error write(const std::string& path, const std::string& data);
  zk::Reply read(const std::string& path);
  std::vector<std::string> children(const std::string& path);
  void remove_tree(const std::string& path);

 private:
  void send(const std::string& bytes) const;
  std::string receive() const;  // one packet

  int socket_;
  std::int32_t xid_ = 0;
};

}  // namespace holdfast::zookeeper_tests
