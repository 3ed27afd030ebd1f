// The gate for any text into JSON: ASCII only, whatever the text is made of, and never longer than is asked for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::internal {

// Appends `text` as a JSON string with its quotes. What is no printable ASCII becomes \uXXXX; bytes that are no UTF-8
// become \uFFFD. Cut, with "..." at its end, so that at most about `max_bytes` are appended. REQUIRES: max_bytes >= 32.
void append_json_string(std::string& out, std::string_view text, std::size_t max_bytes);

}  // namespace holdfast::internal
