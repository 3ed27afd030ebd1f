#include "engines/redlock/marker.h"

#include <algorithm>
#include <charconv>

#include "base/require.h"

namespace holdfast::internal::redlock {

namespace {

// Takes a number off the front, and what must stand behind it: a dot, a space, or the end ('\0').
bool take(std::string_view& text, char behind, std::uint64_t& number) {
  constexpr std::uint64_t kMaxNumber = std::uint64_t{1} << 53;  // what a script can count to
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || number > kMaxNumber) return false;
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

// Takes a run id off the front, and what must stand behind it: a space, or the end ('\0').
bool take_run(std::string_view& text, char behind, std::string& run) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789abcdef"), text.size());
  run = text.substr(0, end);
  text.remove_prefix(end);
  if (run.empty()) return false;
  if (behind == '\0') return text.empty();
  return take_word(text, std::string_view(&behind, 1));
}

bool take_nodes(std::string_view& text, char behind, Marker& marker) {
  std::uint64_t nodes = 0;
  if (!take(text, behind, nodes)) return false;
  marker.nodes = nodes;
  return true;
}

bool take_time(std::string_view& text, char behind, std::int64_t& ms) {
  std::uint64_t number = 0;
  if (!take(text, behind, number)) return false;
  ms = static_cast<std::int64_t>(number);
  return true;
}

bool take_epoch(std::string_view& text, Marker& marker) {
  return take(text, '.', marker.epoch.number) && take(text, ' ', marker.epoch.nonce);
}

bool take_memory(std::string_view& text, Marker& marker) {
  std::uint64_t memory = 0;
  if (!take(text, ' ', memory) || memory > 2) return false;
  marker.memory = static_cast<Marker::Memory>(memory);
  return true;
}

bool take_founding(std::string_view text, Marker& marker) {
  std::uint64_t nonce = 0;
  if (!take(text, ' ', nonce)) return false;
  std::string_view earlier = text;
  if (take_nodes(earlier, '\0', marker)) return true;
  return take_nodes(text, ' ', marker) && take_run(text, '\0', marker.run);
}

bool take_marked(std::string_view text, Marker& marker) {
  std::uint64_t nonce = 0;
  if (!take(text, ' ', nonce)) return false;
  std::string_view earlier = text;
  if (take_nodes(earlier, '\0', marker)) return true;
  return take_nodes(text, ' ', marker) && take_epoch(text, marker) &&
         take_time(text, ' ', marker.longest_ms) && take(text, ' ', marker.floor) &&
         take_memory(text, marker) && take_run(text, '\0', marker.run);
}

bool take_joining(std::string_view text, Marker& marker) {
  if (!take_epoch(text, marker) || !take_time(text, ' ', marker.longest_ms) ||
      !take_nodes(text, ' ', marker)) {
    return false;
  }
  std::string_view earlier = text;
  if (take_time(earlier, '\0', marker.until_ms)) return true;
  return take(text, ' ', marker.floor) && take_memory(text, marker) &&
         take_run(text, ' ', marker.run) && take_time(text, '\0', marker.until_ms);
}

bool take_open(std::string_view text, Marker& marker) {
  std::uint64_t established = 0;
  if (!take_epoch(text, marker) || !take_time(text, ' ', marker.longest_ms) ||
      !take_nodes(text, ' ', marker) || !take(text, ' ', established) ||
      !take(text, ' ', marker.opening)) {
    return false;
  }
  marker.established = established == 1;
  std::string_view unfounded = text;
  if (take_run(unfounded, '\0', marker.run)) return true;
  return take_run(text, ' ', marker.run) && take_word(text, "above=") &&
         take(text, '\0', marker.floor);
}

}  // namespace

std::optional<Marker> Marker::parse(std::string_view text) {
  Marker marker;
  marker.text = text;
  bool sound = true;
  if (text.empty()) {
    marker.state = State::blank;
  } else if (take_word(text, "founding ")) {
    marker.state = State::founding;
    sound = take_founding(text, marker);
  } else if (take_word(text, "marked ")) {
    marker.state = State::marked;
    sound = take_marked(text, marker);
  } else if (take_word(text, "joining ")) {
    marker.state = State::joining;
    sound = take_joining(text, marker);
  } else {
    marker.state = State::open;
    sound = take_open(text, marker);
  }
  if (!sound) return std::nullopt;
  return marker;
}

std::string Marker::open_text(const quorum::Era& to, std::int64_t longest, std::size_t electorate,
                              std::uint64_t opening_nonce, std::uint64_t above) const {
  HOLDFAST_REQUIRE(state == State::founding || state == State::joining);
  return text_of(to) + ' ' + std::to_string(longest) + ' ' + std::to_string(electorate) + " 0 " +
         std::to_string(opening_nonce) + ' ' + run +
         (above == 0 ? "" : " above=" + std::to_string(above));
}

std::string Marker::marked_text(std::uint64_t nonce, std::size_t electorate,
                                const std::string& in_run) const {
  HOLDFAST_REQUIRE(state == State::open || state == State::marked || state == State::joining);
  HOLDFAST_REQUIRE(run != in_run);
  return "marked " + std::to_string(nonce) + ' ' + std::to_string(electorate) + ' ' +
         text_of(epoch) + ' ' + std::to_string(longest_ms) + ' ' + std::to_string(floor) +
         (remembers() ? " 1 " : " 0 ") + in_run;
}

std::string Marker::joining_text(const quorum::Era& to, std::int64_t longest, std::uint64_t above,
                                 Memory how) const {
  HOLDFAST_REQUIRE(state == State::marked || state == State::joining);
  return "joining " + text_of(to) + ' ' + std::to_string(longest) + ' ' + std::to_string(nodes) +
         ' ' + std::to_string(above) + ' ' + std::to_string(static_cast<int>(how)) + ' ' + run +
         ' ';
}

std::string text_of(const quorum::Era& epoch) {
  return std::to_string(epoch.number) + '.' + std::to_string(epoch.nonce);
}

}  // namespace holdfast::internal::redlock
