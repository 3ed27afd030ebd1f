// Durations as people write them (500ms, 10s, 2m, 1h) and as they like to read them.
#pragma once

#include <string>
#include <string_view>

#include "holdfast/result.h"
#include "holdfast/time.h"

namespace holdfast::cli {

// More than this is a mistyped number, not a plan.
inline constexpr Duration kLongest = std::chrono::hours(720);

// `option` names the culprit in the message ("--ttl").
Result<Duration> parse_duration(std::string_view option, std::string_view text);

// "1.5s", "12m": short, rounded, for tables.
std::string format_duration(Duration span);

long long to_ms(Duration span);

}  // namespace holdfast::cli
