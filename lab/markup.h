// Markup: text for HTML and SVG, escaped where it came from somewhere else.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "holdfast/text.h"

namespace holdfast::lab {

// The gate to HTML and SVG, for text between tags and for the value of a quoted attribute: well-formed
// also as XML, which has neither control characters nor invalid UTF-8, and without characters that
// reorder what is around them.
inline std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += c;
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
