// PoolingProxy: a proxy before a PostgreSQL server that pools transactions: it has two backends for each
// client, and gives each transaction to the other one. Only what libpq sends without TLS.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

namespace holdfast::postgres_tests {

class PoolingProxy {
 public:
  explicit PoolingProxy(int upstream_port);
  ~PoolingProxy();  // ends all connections
  PoolingProxy(const PoolingProxy&) = delete;
  PoolingProxy& operator=(const PoolingProxy&) = delete;

  int port() const { return port_; }

 private:
  void listen();
  void serve(int client);

  int upstream_port_;
  int port_ = 0;
  int listener_ = -1;
  std::atomic<bool> over_ = false;
  std::vector<std::thread> clients_;
  std::thread thread_;
};

}  // namespace holdfast::postgres_tests
