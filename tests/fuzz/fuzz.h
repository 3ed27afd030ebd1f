// Shared by the fuzzers. Each defines LLVMFuzzerTestOneInput(), which libFuzzer calls with one
// input after the other; a crash, a sanitizer's report or a failed must() is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace holdfast::fuzz {

// A claim about the code that holds for every input.
inline void must(bool holds, const char* claim, std::string_view detail = {}) {
  if (holds) return;
  std::fprintf(stderr, "this must hold, and does not: %s (%.*s)\n", claim,
               static_cast<int>(detail.size()), detail.data());
  std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Cuts `text` at the first `mark`; returns what came before it.
inline std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t place = text.find(mark);
  const std::string_view front = text.substr(0, place);
  text.remove_prefix(place == std::string_view::npos ? text.size() : place + 1);
  return front;
}

}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
