// Marker: what a node says of its own part in the electorate. Kept on the node in one key, and
// compared with every vote: a node that has lost its data has lost its marker too, so it does not
// vote until it has rejoined.
//
//   blank ──found──► founding ──open──► open
//     │                                   ▲
//     └──────join──► joining ──finish─────┘     after silence, with the others' fences
//
//   open       "EPOCH LONGEST_MS NODES"
//   founding   "founding NODES"                      never voted
//   joining    "joining EPOCH LONGEST_MS NODES UNTIL_MS"   silent until then, by its own clock
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::internal::redlock {

struct Marker {
  enum class State { blank, founding, joining, open };
  State state = State::blank;
  std::uint64_t epoch = 0;
  std::int64_t longest_ms = 0;  // the longest ttl that anybody may use
  std::size_t nodes = 0;        // of the electorate
  std::int64_t until_ms = 0;
  std::string text;  // as it stands there

  // Nothing if it is none.
  static std::optional<Marker> parse(std::string_view text);
  static std::string open_text(std::uint64_t epoch, std::int64_t longest_ms, std::size_t nodes);

  bool votes() const { return state == State::open; }
};

}  // namespace holdfast::internal::redlock
