#include "engines/redlock/marker.h"

#include <charconv>

namespace holdfast::internal::redlock {

namespace {

// Takes a number off the front, and what must stand behind it: a dot, a space, or the end ('\0').
bool take(std::string_view& text, char behind, std::uint64_t& number) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53;  // what a script can count to
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || number > kMost) return false;
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  if (behind == '\0') return text.empty();
  if (!text.starts_with(behind)) return false;
  text.remove_prefix(1);
  return true;
}

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace

std::optional<Marker> Marker::parse(std::string_view text) {
  Marker marker;
  marker.text = text;
  std::uint64_t nodes = 0;
  std::uint64_t nonce = 0;
  std::uint64_t longest = 0;
  std::uint64_t until = 0;
  bool sound = true;
  if (text.empty()) {
    marker.state = State::blank;
  } else if (take_word(text, "founding ")) {
    marker.state = State::founding;
    sound = take(text, ' ', nonce) && take(text, '\0', nodes);
  } else if (take_word(text, "marked ")) {
    marker.state = State::marked;
    sound = take(text, ' ', nonce) && take(text, '\0', nodes);
  } else {
    const bool joining = take_word(text, "joining ");
    marker.state = joining ? State::joining : State::open;
    std::uint64_t established = 0;
    sound = take(text, '.', marker.epoch.number) && take(text, ' ', marker.epoch.nonce) &&
            take(text, ' ', longest) && take(text, ' ', nodes);
    if (sound && joining) sound = take(text, '\0', until);
    if (sound && !joining) {
      sound = take(text, ' ', established) && take(text, ' ', marker.opening) && !text.empty() &&
              text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
      marker.run = text;
    }
    marker.established = established == 1;
  }
  if (!sound) return std::nullopt;
  marker.nodes = nodes;
  marker.longest_ms = static_cast<std::int64_t>(longest);
  marker.until_ms = static_cast<std::int64_t>(until);
  return marker;
}

std::string Marker::open_text(const quorum::Era& epoch, std::int64_t longest_ms, std::size_t nodes,
                              std::uint64_t opening, const std::string& run) {
  return text_of(epoch) + ' ' + std::to_string(longest_ms) + ' ' + std::to_string(nodes) + " 0 " +
         std::to_string(opening) + ' ' + run;
}

std::string Marker::in_run(const std::string& other) const {
  return text_of(epoch) + ' ' + std::to_string(longest_ms) + ' ' + std::to_string(nodes) +
         (established ? " 1 " : " 0 ") + std::to_string(opening) + ' ' + other;
}

std::string text_of(const quorum::Era& epoch) {
  return std::to_string(epoch.number) + '.' + std::to_string(epoch.nonce);
}

}  // namespace holdfast::internal::redlock
