// DescriptorWatch: calls back inside the loop whenever a descriptor is readable, until destroyed.
// Owns the descriptor. Inside the loop only.
#pragma once

#include <functional>

#include "base/descriptor.h"
#include "wire/socket_watch.h"

namespace holdfast::internal {

class DescriptorWatch {
 public:
  // REQUIRES: `runtime` is a RealRuntime; the descriptor does not block. `on_readable` may destroy
  // the watch. If it reads nothing, it is called again at once.
  DescriptorWatch(Runtime& runtime, int descriptor, std::function<void()> on_readable)
      : descriptor_(descriptor), watch_(runtime, descriptor, std::move(on_readable), nullptr) {}

  int descriptor() const { return descriptor_.number(); }

 private:
  Descriptor descriptor_;
  SocketWatch watch_;  // ends before the descriptor is closed
};

}  // namespace holdfast::internal
