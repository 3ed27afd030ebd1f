#include "label.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "holdfast/options.h"
#include "holdfast/text.h"
#include "secrets.h"

namespace holdfast::cli {
namespace {

constexpr std::string_view kHidden = "***";

// Where the first name ends that says that its value is nobody else's business; npos if there is none.
std::size_t end_of_secret_name(std::string_view word) {
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::array kNames = {"pass",   "secret",  "token",   "credential", "authorization",
                                 "apikey", "api-key", "api_key", "access-key", "access_key"};
  std::size_t first = std::string::npos;
  for (const std::string_view name : kNames) first = std::min(first, lower.find(name));
  return first == std::string::npos ? first
                                    : std::min(lower.find_first_of("=: ", first), word.size());
}

// A word of the command line as others may see it. Sets `hides_next` if the next one is a secret.
std::string shown_word(const std::string& word, bool& hides_next) {
  const std::size_t end = end_of_secret_name(word);
  // Behind it to the end: where a value ends in the text of a shell, only that shell knows.
  if (end < word.size()) return without_secrets(word.substr(0, end + 1)) + std::string(kHidden);
  hides_next = end == word.size() && word.starts_with('-');
  return without_secrets(word);
}

}  // namespace

std::string shown_command(const std::vector<std::string>& words) {
  constexpr std::size_t kMax = 120;
  std::string text;
  bool hide = false;
  for (const std::string& word : words) {
    const bool hidden = std::exchange(hide, false);
    text += text.empty() ? "" : " ";
    text += hidden ? std::string(kHidden) : shown_word(word, hide);
    if (text.size() > kMax) break;
  }
  return printable(text, kMax);
}

std::string label_of(const std::vector<std::string>& command) {
  std::string label = default_label();
  if (command.empty()) return label;
  label.erase(label.rfind(' '));  // the program's name: ours
  return label + ": " + shown_command(command);
}

}  // namespace holdfast::cli
