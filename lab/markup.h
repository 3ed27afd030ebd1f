// Markup: text for HTML and SVG, escaped where it came from somewhere else.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace holdfast::lab {

inline std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default:
        // XML has no other control characters.
        result += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return result;
}

// "12.5", without an exponent and without digits that nobody sees.
inline std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

}  // namespace holdfast::lab
