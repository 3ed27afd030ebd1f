#include "top/keys.h"

#include <optional>

namespace holdfast::cli::top {
namespace {

// Longer than any key: a paste of rubbish.
constexpr std::size_t kLongest = 32;

std::optional<Press> press_of_letter(char letter) {
  switch (letter) {
    case 'A': return Press::up;
    case 'B': return Press::down;
    case 'C': return Press::right;
    case 'D': return Press::left;
    case 'H': return Press::home;
    case 'F': return Press::end;
    default: return std::nullopt;
  }
}

// "5~", "1;5A", "A": what is between ESC [ and the end of the sequence, with that.
std::optional<Press> press_of(std::string_view sequence) {
  // Reports of a mouse, and answers of a terminal.
  if (sequence.find_first_of("<?>=") != std::string_view::npos) return std::nullopt;
  if (sequence.back() != '~') return press_of_letter(sequence.back());
  const std::string_view number = sequence.substr(0, sequence.find_first_of(";~"));
  if (number == "1" || number == "7") return Press::home;
  if (number == "4" || number == "8") return Press::end;
  if (number == "5") return Press::page_up;
  if (number == "6") return Press::page_down;
  return std::nullopt;
}

std::size_t length_of(unsigned char lead) {
  return lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
}

}  // namespace

std::vector<Key> Keys::read(std::string_view bytes) {
  std::vector<Key> keys;
  pending_ += bytes;
  while (!pending_.empty()) {
    const std::size_t used = take(keys);
    if (used == 0) break;
    pending_.erase(0, used);
  }
  return keys;
}

std::vector<Key> Keys::give_up() {
  std::vector<Key> keys;
  if (pending_ == "\x1b") keys.push_back({Press::escape, {}});
  pending_.clear();
  return keys;
}

std::size_t Keys::take(std::vector<Key>& keys) const {
  const auto byte = static_cast<unsigned char>(pending_[0]);
  if (byte == 0x1B) return take_escape(keys);
  if (byte >= 0x80) return take_character(keys);
  if (byte == '\r' || byte == '\n') {
    keys.push_back({Press::enter, {}});
  } else if (byte == 0x7F || byte == 0x08) {
    keys.push_back({Press::backspace, {}});
  } else if (byte == 0x15) {  // Ctrl-U
    keys.push_back({Press::clear, {}});
  } else if (byte >= 0x20) {
    keys.push_back({Press::text, std::string(1, pending_[0])});
  }
  return 1;
}

std::size_t Keys::take_escape(std::vector<Key>& keys) const {
  if (pending_.size() < 2) return 0;
  const char kind = pending_[1];
  // Escape, and then another key.
  if (kind != '[' && kind != 'O') {
    keys.push_back({Press::escape, {}});
    return 1;
  }
  if (kind == 'O') {
    if (pending_.size() < 3) return 0;
    if (const auto press = press_of_letter(pending_[2])) keys.push_back({*press, {}});
    if (pending_[2] == 'M') keys.push_back({Press::enter, {}});  // of the keypad
    return 3;
  }
  for (std::size_t i = 2; i < pending_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(pending_[i]);
    // The function keys of the Linux console: ESC [ [ A.
    if (i == 2 && byte == '[') {
      if (pending_.size() < 4) return 0;
      return 4;
    }
    if (byte >= 0x40 && byte <= 0x7E) {
      if (const auto press = press_of(std::string_view(pending_).substr(2, i - 1)))
        keys.push_back({*press, {}});
      return i + 1;
    }
    // No part of a sequence: the sequence was cut off, and this is something else.
    if (byte < 0x20 || byte > 0x7E) return i;
  }
  return pending_.size() > kLongest ? pending_.size() : 0;
}

std::size_t Keys::take_character(std::vector<Key>& keys) const {
  const std::size_t length = length_of(static_cast<unsigned char>(pending_[0]));
  if (length == 1) return 1;  // no character
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= pending_.size()) return 0;
    if ((static_cast<unsigned char>(pending_[i]) & 0xC0) != 0x80) return i;
  }
  keys.push_back({Press::text, pending_.substr(0, length)});
  return length;
}

}  // namespace holdfast::cli::top
