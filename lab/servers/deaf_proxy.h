// DeafProxy: a TCP proxy on 127.0.0.1 that swallows what the server tells on its own account (watch
// events) and passes all answers. The connection lives, and is deaf.
//
// Thread safety: any thread. deafen() applies to every packet that arrives after it returned.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>
#include <thread>

namespace holdfast::test {

class DeafProxy {
 public:
  enum class Protocol { zookeeper, etcd };

  DeafProxy(int upstream_port, Protocol protocol);
  ~DeafProxy();  // closes all connections
  DeafProxy(const DeafProxy&) = delete;
  DeafProxy& operator=(const DeafProxy&) = delete;

  int port() const { return port_; }
  void deafen(bool deaf) { deaf_ = deaf; }
  int swallowed() const { return swallowed_; }

 private:
  struct Link;
  void serve();
  bool pass_on(Link& link);

  const int upstream_port_;
  const Protocol protocol_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> deaf_ = false;
  std::atomic<bool> over_ = false;
  std::atomic<int> swallowed_ = 0;
  std::thread thread_;
};

// Whether a whole packet of the server's is news: a ZooKeeper packet without its length, or an HTTP/2
// frame.
bool is_zookeeper_event(std::string_view packet);
bool is_etcd_watch_event(std::string_view frame);

}  // namespace holdfast::test
