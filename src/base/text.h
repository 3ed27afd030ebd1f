// Small conversions between bytes and text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "holdfast/text.h"
#include "holdfast/time.h"

namespace holdfast {

std::string to_hex(std::span<const std::uint8_t> bytes);
std::string to_hex(std::string_view bytes);
// Into `out`, which has room for two digits of each byte.
void write_hex(std::span<const std::uint8_t> bytes, char* out);
std::optional<std::string> bytes_from_hex(std::string_view hex);

// "1.5 s", "20 ms", "3 min": for people.
std::string duration_text(Duration span);

// As printable() makes a message for people; nothing is copied where nothing is to be done.
void make_printable(std::string& message);

}  // namespace holdfast
