#include "secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <utility>

#include "holdfast/text.h"

namespace holdfast::cli {
namespace {

struct Secret {
  std::string text;
  std::string shown;
};

// The longest first: one may be a part of another.
std::vector<Secret>& secrets() {
  static std::vector<Secret> all;
  return all;
}

constexpr std::string_view kHandle = "hf1.";

// Where a URL begins in `word`: at its scheme, at 0 if the whole word is one.
std::size_t begin_of_url(std::string_view word, std::size_t scheme_end) {
  const auto in_scheme = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
  };
  std::size_t begin = scheme_end;
  while (begin > 0 && in_scheme(word[begin - 1])) --begin;
  return begin;
}

// Where the first handle of a word begins; npos if it has none. "$handles" has several.
std::size_t begin_of_handle(const std::string& word) {
  for (std::size_t at = word.find(kHandle); at != std::string::npos;
       at = word.find(kHandle, at + 1)) {
    if (at == 0 || std::isspace(static_cast<unsigned char>(word[at - 1])) != 0) return at;
  }
  return std::string::npos;
}

// Where the secret of a word begins; its end if it has none. `is_url`: it is the value of --on.
std::size_t begin_of_secret(const std::string& word, bool is_url) {
  constexpr std::string_view kOn = "--on=";
  if (const bool on = word.starts_with(kOn); is_url || on) {
    std::size_t value = on ? kOn.size() : 0;
    value += length_of_place_name(std::string_view(word).substr(value));
    return word.substr(value).starts_with('@') ? word.size() : value;
  }
  const std::size_t scheme_end = word.find("://");
  const std::size_t url =
      scheme_end == std::string::npos ? word.size() : begin_of_url(word, scheme_end);
  return std::min(url, begin_of_handle(word));
}

std::string shown_secret(const std::string& secret) {
  return secret.starts_with(kHandle) ? std::string(kHandle) + "***" : redacted(secret);
}

// A word of the command line as others may see it, and remembers what they may not. A secret goes to
// the end of its word: a password may have blanks and quotes, so that nothing else ends it.
std::string shown_word(const std::string& word, bool is_url) {
  const std::size_t begin = begin_of_secret(word, is_url);
  const std::string secret = word.substr(begin);
  if (secret.empty()) return word;
  const std::string shown = shown_secret(secret);
  remember_secret(secret, shown);
  return word.substr(0, begin) + shown;
}

// Writes `words` over the originals, one behind the other as the kernel has put them, so that the
// length of a password does not show either. REQUIRES: no word is longer than its original.
void overwrite(int argc, char** argv, const std::vector<std::string>& words) {
  char* const end = argv[argc - 1] + std::strlen(argv[argc - 1]) + 1;
  char* place = argv[0];
  for (int i = 0; i < argc; ++i) {
    const std::string& word = words[static_cast<std::size_t>(i)];
    argv[i] = place;
    place = std::copy(word.begin(), word.end(), place);
    *place++ = '\0';
  }
  std::fill(place, end, '\0');
}

}  // namespace

std::size_t length_of_place_name(std::string_view word) {
  const std::size_t end =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
  return end != std::string_view::npos && end > 0 && word[end] == '=' ? end + 1 : 0;
}

void remember_secret(std::string_view secret, std::string_view shown) {
  // Shorter words may stand in any message, and hide no login.
  constexpr std::size_t kMinLength = 6;
  std::vector<Secret>& all = secrets();
  if (secret.size() < kMinLength || secret == shown) return;
  bool added = false;
  // A Failure has escaped it already.
  for (std::string& text : std::array{std::string(secret), printable(secret, std::string::npos)}) {
    const auto known = [&](const Secret& each) { return each.text == text; };
    if (std::ranges::any_of(all, known)) continue;
    all.push_back({std::move(text), std::string(shown)});
    added = true;
  }
  if (!added) return;  // Other threads may read them meanwhile.
  std::ranges::stable_sort(all, std::ranges::greater(),
                           [](const Secret& each) { return each.text.size(); });
}

std::string redact(std::string_view message) {
  std::string text(message);
  for (const auto& [secret, shown] : secrets()) {
    for (std::size_t at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + shown.size())) {
      text.replace(at, secret.size(), shown);
    }
  }
  return text;
}

std::string without_secrets(const std::string& word) {
  const std::size_t begin = begin_of_secret(word, false);
  return begin == word.size() ? word : word.substr(0, begin) + shown_secret(word.substr(begin));
}

std::string quoted_word(std::string_view word) {
  constexpr std::size_t kMaxLength = 80;
  return "'" + printable(redact(word), kMaxLength) + "'";
}

std::vector<std::string> hide_arguments(int argc, char** argv) {
  std::vector<std::string> copies(argv, argv + argc);
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const bool is_url = i > 0 && copies[i - 1] == "--on";
    std::string word = shown_word(copies[i], is_url);
    // Never longer than the original: there is no more room.
    if (word.size() > copies[i].size()) word.assign(copies[i].size(), '*');
    shown.push_back(std::move(word));
  }
  if (!shown.empty() && shown != copies) overwrite(argc, argv, shown);
  return copies;
}

}  // namespace holdfast::cli
