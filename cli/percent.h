// Names, which are any bytes, as one segment of a URL's path.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {

// "a%2Fb" -> "a/b"; nothing if an escape is broken.
std::optional<std::string> percent_decoded(std::string_view text);
// Of any bytes; the inverse, for one segment of a path.
std::string percent_encoded(std::string_view bytes);

}  // namespace holdfast::cli
