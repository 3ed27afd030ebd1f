#include "waiting.h"

#include <thread>
#include <utility>

namespace holdfast::test {
namespace {

thread_local std::stop_token stops;

}  // namespace

StopsWaiting::StopsWaiting(std::stop_token stop) : former_(std::exchange(stops, std::move(stop))) {}
StopsWaiting::~StopsWaiting() { stops = std::move(former_); }

void wait_for(const std::string& what, const std::function<bool()>& condition,
              std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  std::string reason;
  for (;;) {
    if (stops.stop_requested()) throw WaitStopped();
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
