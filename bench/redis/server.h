// Server: a redis-server of our own on a free loopback port, in memory only, or with every answer
// durable where the run wants that (data_folder.h). It ends with this object, and with this process
// however that ends.
#pragma once

#include <sys/types.h>

#include <string>

#include "data_folder.h"

namespace holdfast::bench {

class Server {
 public:
  // Returns when it answers. Throws if there is no redis-server, or it does not start.
  explicit Server(int cpu);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const { return port_; }
  pid_t pid() const { return pid_; }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
  std::string version() const;
  // Forgets all keys; loaded scripts stay.
  void flush() const;

 private:
  void start(int cpu);
  bool wait_until_ready();
  void stop();

  DataFolder folder_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace holdfast::bench
