// Words: some words of a command in the form in which they go to the server, all in one piece of
// memory: the path of every lock goes through here.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace holdfast::internal::redis {

class Words {
 public:
  Words() = default;
  Words(std::initializer_list<std::string_view> words);  // NOLINT(google-explicit-constructor)

  Words& add(std::string_view word);
  template <std::integral N>
  Words& add(N number) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return add(std::string_view(digits.data(), end));
  }
  // One word, made of these pieces.
  Words& join(std::initializer_list<std::string_view> pieces);
  // The last word once more, with another last character. REQUIRES: the last word has one
  Words& repeat(char last);

  std::size_t count() const { return count_; }
  // REQUIRES: index < count()
  std::string_view at(std::size_t index) const;
  // The first so many of them, as they are sent.
  std::string_view first(std::size_t count) const;
  std::string_view bytes() const { return {memory_.data(), size_}; }

 private:
  // Makes room for so many more bytes.
  void ensure(std::size_t more);
  // Makes room for a word of `size` bytes, and writes what is around it.
  char* room_for(std::size_t size);

  std::string memory_;
  std::size_t size_ = 0;  // of what is written there
  std::size_t last_ = 0;  // where the last word begins
  std::size_t count_ = 0;
};

// A whole command.
std::string encode(const Words& words);

}  // namespace holdfast::internal::redis
