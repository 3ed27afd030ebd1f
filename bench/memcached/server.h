// Server: a memcached of our own on a free loopback port. It ends with this object, and with this
// process however that ends.
#pragma once

#include <sys/types.h>

#include <string>

namespace holdfast::bench {

class Server {
 public:
  // Returns when it answers. Throws if there is no memcached, or it does not start.
  explicit Server(int cpu);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const { return port_; }
  pid_t pid() const { return pid_; }
  std::string url() const { return "memcached://127.0.0.1:" + std::to_string(port_); }
  std::string version() const;

 private:
  bool wait_until_ready();
  void stop();

  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace holdfast::bench
