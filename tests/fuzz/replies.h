// Bytes cut at any places, through a parser of replies; then each reply is read. The first two bytes of an
// input choose the cuts.
#pragma once

#include <vector>

#include "fuzz.h"

namespace holdfast::fuzz {

template <class Reply>
struct Parsed {
  std::vector<Reply> replies;
  bool sound = true;
};

// In pieces of 1 to `longest` bytes, drawn from `seed`; in one piece if `longest` is 0.
template <class Parser, class Reply>
Parsed<Reply> parse(std::string_view bytes, std::size_t longest, std::uint32_t seed) {
  Parsed<Reply> parsed;
  Parser parser;
  std::string problem;
  while (!bytes.empty() && parsed.sound) {
    seed = seed * 1664525 + 1013904223;
    const std::string_view front =
        longest == 0 ? bytes : bytes.substr(0, 1 + (seed >> 8) % longest);
    const std::vector<char> piece(front.begin(), front.end());  // a byte too far is seen
    bytes.remove_prefix(piece.size());
    parsed.sound = parser.feed(
        {piece.data(), piece.size()},
        [&](Reply reply) { parsed.replies.push_back(std::move(reply)); }, problem);
  }
  must(parsed.sound || !problem.empty(), "a refusal has a reason");
  return parsed;
}

// `same(a, b)` compares two replies; `read(reply)` reads all of one.
template <class Parser, class Reply, class Same, class Read>
void parse_whole_and_cut(const std::uint8_t* data, std::size_t size, Same same, Read read) {
  if (size < 2) return;
  const std::string_view bytes = text_of(data + 2, size - 2);
  const auto whole = parse<Parser, Reply>(bytes, 0, 0);
  const auto cut = parse<Parser, Reply>(bytes, std::size_t{1} + data[0] % 32, data[1]);
  must(whole.sound == cut.sound, "cuts do not decide what is the protocol");
  must(whole.replies.size() == cut.replies.size(), "cuts do not decide how many replies there are");
  for (std::size_t i = 0; i < whole.replies.size(); ++i) {
    must(same(whole.replies[i], cut.replies[i]), "cuts do not decide what a reply is");
    read(whole.replies[i]);
  }
}

}  // namespace holdfast::fuzz
