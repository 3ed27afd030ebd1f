// SlowLink: a way to a server on this machine on which every answer takes its time.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace holdfast::bench {

class SlowLink {
 public:
  SlowLink(int to_port, std::chrono::milliseconds delay);
  ~SlowLink();
  SlowLink(const SlowLink&) = delete;
  SlowLink& operator=(const SlowLink&) = delete;

  int port() const { return port_; }

 private:
  void serve();

  int to_port_;
  std::chrono::milliseconds delay_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> over_ = false;
  std::vector<std::thread> pumps_;
  std::thread acceptor_;
};

}  // namespace holdfast::bench
