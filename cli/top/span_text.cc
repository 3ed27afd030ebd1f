#include "top/span_text.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace holdfast::cli::top {

std::string span_text(long long ms) {
  constexpr long long kSecond = 1000;
  constexpr long long kMinute = 60 * kSecond;
  constexpr long long kHour = 60 * kMinute;
  constexpr long long kDay = 24 * kHour;
  ms = std::max(0LL, ms);
  char text[32];
  if (ms < 10 * kSecond) {
    // Cut, not rounded: "10.0s" is longer.
    std::snprintf(text, sizeof text, "%lld.%llds", ms / kSecond, ms % kSecond / 100);
  } else if (ms < 100 * kSecond) {
    std::snprintf(text, sizeof text, "%llds", ms / kSecond);
  } else if (ms < 100 * kMinute) {
    std::snprintf(text, sizeof text, "%lldm", ms / kMinute);
  } else if (ms < 100 * kHour) {
    std::snprintf(text, sizeof text, "%lldh", ms / kHour);
  } else {
    std::snprintf(text, sizeof text, "%lldd", ms / kDay);
  }
  return text;
}

std::string since_text(const std::optional<long long>& moment_ms, long long now_ms) {
  return moment_ms ? span_text(now_ms - *moment_ms) : "-";
}

std::string clock_text(long long at_ms) {
  const auto seconds = static_cast<std::time_t>(at_ms / 1000);
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &local);
  return text;
}

}  // namespace holdfast::cli::top
