// Spans and moments as short texts, for columns that are read again every second. Pure.
#pragma once

#include <optional>
#include <string>

namespace holdfast::cli::top {

// "0.4s", "12s", "59m", "26h", "12d": at most 4 characters up to a year.
std::string span_text(long long ms);
// From a moment, or to one, that may be unknown ("-").
std::string since_text(const std::optional<long long>& moment_ms, long long now_ms);
// "14:03:22", in the time zone of the user.
std::string clock_text(long long at_ms);

}  // namespace holdfast::cli::top
