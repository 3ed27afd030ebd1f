#include "secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace holdfast::cli {
namespace {

constexpr std::string_view kEndOfUrl = " \t\r\n'\"<>";

void mask(std::string& text, std::size_t from, std::size_t to) {
  std::fill(text.begin() + static_cast<std::ptrdiff_t>(from),
            text.begin() + static_cast<std::ptrdiff_t>(to), '*');
}

// user:PASSWORD@host, where [begin, end) is what follows "://".
void mask_authority(std::string& text, std::size_t begin, std::size_t end) {
  const std::size_t at = text.rfind('@', end - 1);
  const std::size_t colon = text.find(':', begin);
  if (at == std::string::npos || at < begin || colon == std::string::npos || colon > at) return;
  // What a message tells the user to write: PASSWORD, or [:PASSWORD].
  const std::string_view secret = std::string_view(text).substr(colon + 1, at - colon - 1);
  if (secret == "PASSWORD" || secret == "PASSWORD]") return;
  mask(text, colon + 1, at);
}

// ?password=PASSWORD&…, in [begin, end).
void mask_query(std::string& text, std::size_t begin, std::size_t end) {
  static constexpr std::array<std::string_view, 4> kKeys = {"pass", "secret", "auth", "token"};
  std::size_t field = text.find('?', begin);
  while (field < end) {
    const std::size_t next = std::min(text.find_first_of("&;", field + 1), end);
    const std::size_t equals = text.find('=', field);
    if (equals < next) {
      std::string key = text.substr(field + 1, equals - field - 1);
      std::ranges::transform(key, key.begin(), [](unsigned char c) { return std::tolower(c); });
      const auto in_key = [&](std::string_view word) { return key.find(word) != key.npos; };
      if (std::ranges::any_of(kKeys, in_key)) mask(text, equals + 1, next);
    }
    field = next;
  }
}

}  // namespace

std::string redact(std::string_view input) {
  std::string text(input);
  std::size_t scheme_end = text.find("://");
  while (scheme_end != std::string::npos) {
    const std::size_t begin = scheme_end + 3;
    const std::size_t end = std::min(text.find_first_of(kEndOfUrl, begin), text.size());
    if (begin < end) {
      mask_query(text, begin, end);
      mask_authority(text, begin, end);
    }
    scheme_end = text.find("://", begin);
  }
  return text;
}

std::vector<std::string> hide_arguments(int argc, char** argv) {
  std::vector<std::string> copies(argv, argv + argc);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const std::string hidden = redact(copies[i]);
    std::ranges::copy(hidden, argv[i]);  // The same length: nothing moves.
  }
  return copies;
}

}  // namespace holdfast::cli
