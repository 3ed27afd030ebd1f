// A word for a shell, in a command that we tell the user to type.
#pragma once

#include <string>

namespace holdfast::cli {

// As it is, or in single quotes. REQUIRES: printable; no shell but csh reads anything else in it then.
inline std::string shell_word(const std::string& text) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@%+,";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace holdfast::cli
