// Impostor: something on a port of 127.0.0.1 that is no Redis: whatever it is sent, it answers with
// the same bytes and hangs up.
#pragma once

#include <string>
#include <thread>

namespace holdfast::redlock_tests {

class Impostor {
 public:
  explicit Impostor(std::string answer);
  ~Impostor();
  Impostor(const Impostor&) = delete;
  Impostor& operator=(const Impostor&) = delete;

  int port() const { return port_; }

 private:
  void answer_all(const std::stop_token& stop) const;

  std::string answer_;
  int listener_ = -1;
  int port_ = 0;
  std::jthread thread_;
};

}  // namespace holdfast::redlock_tests
