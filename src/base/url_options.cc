#include "base/url_options.h"

#include <charconv>

namespace holdfast::internal {

std::optional<int> number_in(std::string_view text, int least, int most) {
  int number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  if (number < least || number > most) return std::nullopt;
  return number;
}

std::optional<std::string> take_time(const std::string& key, const std::string& value,
                                     Duration& time, int most_milliseconds) {
  const std::optional<int> milliseconds = number_in(value, 1, most_milliseconds);
  if (!milliseconds) {
    return key + " is a number of milliseconds up to " + std::to_string(most_milliseconds) +
           ", not '" + value + "'";
  }
  time = std::chrono::milliseconds(*milliseconds);
  return std::nullopt;
}

std::optional<std::string> take_flag(const std::string& key, const std::string& value, bool& flag) {
  if (value != "yes" && value != "no") return key + " is yes or no, not '" + value + "'";
  flag = value == "yes";
  return std::nullopt;
}

}  // namespace holdfast::internal
