// DescriptorWatch: calls back inside the loop whenever a descriptor is readable, until destroyed.
// Owns the descriptor. Inside the loop only.
#pragma once

#include <functional>
#include <memory>

#include "holdfast/runtime.h"

namespace holdfast::internal {

class DescriptorWatch {
 public:
  // REQUIRES: runtime.io() is not null; the descriptor does not block.
  DescriptorWatch(Runtime& runtime, int descriptor, std::function<void()> on_readable);
  ~DescriptorWatch();
  DescriptorWatch(const DescriptorWatch&) = delete;
  DescriptorWatch& operator=(const DescriptorWatch&) = delete;

  int descriptor() const;

 private:
  struct State;
  static void wait(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace holdfast::internal
