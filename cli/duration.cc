#include "duration.h"

#include <charconv>
#include <cstdio>
#include <optional>

#include "secrets.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kForms = "write a whole number and a unit, such as 500ms, 10s, 2m or 1h";

std::optional<Duration> unit_of(std::string_view text) {
  if (text == "ms") return 1ms;
  if (text == "s") return 1s;
  if (text == "m") return 1min;
  if (text == "h") return 1h;
  return std::nullopt;
}

Failure wrong(std::string_view option, std::string_view text, const std::string& why) {
  const std::string shown = text.empty() ? "" : " " + quoted_word(text);
  return Failure(Code::invalid_argument, std::string(option) + shown + " " + why);
}

}  // namespace

Result<Duration> parse_duration(std::string_view option, std::string_view text) {
  Duration::rep count = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc::result_out_of_range) {
    return wrong(option, text, "is longer than 720h (30 days)");
  }
  if (error != std::errc()) {
    return wrong(option, text, std::string("is not a duration: ") + kForms);
  }
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  if (suffix.empty() && count != 0) {
    return wrong(option, text,
                 "has no unit: write " + std::string(text) + "s for seconds, or ms, m, h");
  }
  const std::optional<Duration> unit = unit_of(suffix);
  if (!unit && !suffix.empty()) {
    return wrong(option, text, std::string("is not a duration: ") + kForms);
  }
  if (count < 0) return wrong(option, text, "is negative: a duration must be longer than zero");
  if (count == 0) return wrong(option, text, "is zero: a duration must be longer than that");
  if (count > kLongest / *unit) {
    return wrong(option, text,
                 "is longer than 720h (30 days): a held lock is renewed by itself, so a short one "
                 "will do");
  }
  return count * *unit;
}

std::string format_duration(Duration span) {
  char text[32];
  const double seconds = std::chrono::duration<double>(span).count();
  if (seconds < 0.001) {
    std::snprintf(text, sizeof text, "%.0fus", seconds * 1e6);
  } else if (seconds < 1) {
    std::snprintf(text, sizeof text, "%.0fms", seconds * 1e3);
  } else if (seconds < 100) {
    std::snprintf(text, sizeof text, "%.1fs", seconds);
  } else if (seconds < 100 * 60) {
    std::snprintf(text, sizeof text, "%.0fm", seconds / 60);
  } else {
    std::snprintf(text, sizeof text, "%.1fh", seconds / 3600);
  }
  return text;
}

long long to_ms(Duration span) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
}

}  // namespace holdfast::cli
