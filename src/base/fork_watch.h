// Tells a forked child from the process that made a client. Cheap enough for every call: getpid()
// is a system call, this is one load.
#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast::internal {

class ForkWatch {
 public:
  ForkWatch() : born_(generation()) {}
  bool forked() const { return born_ != generation(); }

 private:
  // Grows by one in each forked child.
  static std::uint64_t generation();
  std::uint64_t born_;
};

}  // namespace holdfast::internal
