#include "engines/redlock/marker.h"

#include <charconv>
#include <vector>

namespace holdfast::internal::redlock {

namespace {

// Numbers with single spaces between them; nothing if there is anything else.
std::optional<std::vector<std::uint64_t>> numbers_in(std::string_view text) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53;  // what a script can count to
  std::vector<std::uint64_t> numbers;
  while (true) {
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec != std::errc() || number > kMost) return std::nullopt;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    if (text.empty()) return numbers;
    if (!text.starts_with(' ')) return std::nullopt;
    text.remove_prefix(1);
  }
}

}  // namespace

std::optional<Marker> Marker::parse(std::string_view text) {
  constexpr std::string_view kFounding = "founding ";
  constexpr std::string_view kJoining = "joining ";
  Marker marker;
  marker.text = text;
  if (text.empty()) return marker;
  if (text.starts_with(kFounding)) {
    const auto numbers = numbers_in(text.substr(kFounding.size()));
    if (!numbers || numbers->size() != 1) return std::nullopt;
    marker.state = State::founding;
    marker.nodes = numbers->at(0);
    return marker;
  }
  const bool joining = text.starts_with(kJoining);
  const auto numbers = numbers_in(joining ? text.substr(kJoining.size()) : text);
  if (!numbers || numbers->size() != (joining ? 4 : 3)) return std::nullopt;
  marker.state = joining ? State::joining : State::open;
  marker.epoch = numbers->at(0);
  marker.longest_ms = static_cast<std::int64_t>(numbers->at(1));
  marker.nodes = numbers->at(2);
  if (joining) marker.until_ms = static_cast<std::int64_t>(numbers->at(3));
  return marker;
}

std::string Marker::open_text(std::uint64_t epoch, std::int64_t longest_ms, std::size_t nodes) {
  return std::to_string(epoch) + ' ' + std::to_string(longest_ms) + ' ' + std::to_string(nodes);
}

}  // namespace holdfast::internal::redlock
