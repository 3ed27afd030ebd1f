// MemcachedRaw: what a program without Holdfast would write: one blocking socket, `add` to take the lock and
// `delete` to give it back. No owner check, no token.
//
// Thread safety: none; one connection per thread. All calls throw std::runtime_error when the
// connection fails or the server says something else.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::bench {

class MemcachedRaw {
 public:
  explicit MemcachedRaw(int port);
  ~MemcachedRaw();
  MemcachedRaw(const MemcachedRaw&) = delete;
  MemcachedRaw& operator=(const MemcachedRaw&) = delete;

  // Sends `command` and returns the line that comes.
  std::string_view call(std::string_view command);
  // False: somebody has it.
  bool take(const std::string& name);
  void give(const std::string& name);
  // One acquire and one release of `name`, each a round trip.
  void pair(const std::string& name);

 private:
  int socket_;
  char line_[512];
};

}  // namespace holdfast::bench
