// ShortText<N>: at most N bytes of any text, kept in place. Copying it copies bytes, so the options that hold it are
// trivially copyable: constants can be made of them, and GCC 12, which moves the temporaries of a co_await expression
// byte by byte, does so correctly (a std::string in them would be freed twice).
//
// Thread safety: a value.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "holdfast/export.h"

namespace holdfast {

namespace internal {
// Throws LockError (invalid_argument).
[[noreturn]] HOLDFAST_API void refuse_long_text(std::string_view text, std::size_t most);
}  // namespace internal

template <std::size_t N>
class ShortText {
 public:
  static constexpr std::size_t kMaxBytes = N;

  constexpr ShortText() = default;
  // Throws LockError (invalid_argument) if the text is longer than N bytes.
  constexpr ShortText(std::string_view text) : size_(text.size()) {  // NOLINT: a text is a string
    if (size_ > N) internal::refuse_long_text(text, N);
    std::copy_n(text.data(), size_, bytes_.begin());
  }
  constexpr ShortText(const char* text) : ShortText(std::string_view(text)) {}         // NOLINT
  constexpr ShortText(const std::string& text) : ShortText(std::string_view(text)) {}  // NOLINT

  constexpr bool empty() const { return size_ == 0; }
  constexpr std::string_view view() const { return {bytes_.data(), size_}; }
  std::string str() const { return std::string(view()); }

  friend constexpr bool operator==(const ShortText& one, const ShortText& other) {
    return one.view() == other.view();
  }

 private:
  std::size_t size_ = 0;
  std::array<char, N> bytes_{};
};

}  // namespace holdfast
