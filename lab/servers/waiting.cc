#include "waiting.h"

#include <stdexcept>
#include <thread>

namespace holdfast::test {

void wait_for(const std::string& what, const std::function<bool()>& condition,
              std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  std::string reason;
  for (;;) {
    try {
      if (condition()) return;
      reason.clear();
    } catch (const std::runtime_error& error) {
      reason = error.what();
    }
    if (std::chrono::steady_clock::now() >= end) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  throw std::runtime_error("waited " + std::to_string(limit.count()) + " ms for " + what +
                           (reason.empty() ? "" : ": " + reason));
}

}  // namespace holdfast::test
