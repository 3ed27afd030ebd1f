// Shared by the options of all URLs: numbers, times and choices, and the errors when one of
// them is wrong.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "holdfast/time.h"

namespace holdfast::internal {

// Nothing if the text is not a number, or one out of range.
std::optional<int> number_in(std::string_view text, int least, int most);

// Each takes a value, or says what is wrong with it.
std::optional<std::string> take_time(const std::string& key, const std::string& value,
                                     Duration& time, int most_milliseconds = 600'000);
std::optional<std::string> take_flag(const std::string& key, const std::string& value, bool& flag);

}  // namespace holdfast::internal
