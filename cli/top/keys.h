// Keys: what was typed, out of the bytes that a terminal sends for it.
//
// A key may come in pieces, and Escape alone looks like the beginning of another key: it is one when nothing has
// followed for a moment. Sequences that mean nothing here are dropped as a whole, so that no part of them is taken for
// a command.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli::top {

enum class Press {
  text,
  up,
  down,
  page_up,
  page_down,
  home,
  end,
  left,
  right,
  enter,
  escape,
  backspace,
  clear
};

struct Key {
  Press press = Press::text;
  std::string text;  // of Press::text: one character in UTF-8

  friend bool operator==(const Key&, const Key&) = default;
};

class Keys {
 public:
  // How long the rest of a key may take: over a slow line, the bytes of one still come together.
  static constexpr std::chrono::milliseconds kPatience{50};

  std::vector<Key> read(std::string_view bytes);
  // Something has begun that may be a key as it is. After kPatience: give_up().
  bool is_waiting() const { return !pending_.empty(); }
  std::vector<Key> give_up();

 private:
  // How many bytes of pending_ it has used; 0: more are needed.
  std::size_t take(std::vector<Key>& keys) const;
  std::size_t take_escape(std::vector<Key>& keys) const;
  std::size_t take_character(std::vector<Key>& keys) const;

  std::string pending_;
};

}  // namespace holdfast::cli::top
