// Marker: what a node says of its own part in the electorate. Kept on the node in one key, and
// compared with every vote: a node that has lost its data has lost its marker too, so it does not
// vote until it has rejoined.
//
//   blank ──found──► founding ──────────change──────────► open
//     │                                                    ▲
//     └──────mark──► marked ──join──► joining ───change────┘
//
//   open       "EPOCH LONGEST_MS NODES ESTABLISHED OPENING RUN"
//   founding   "founding NONCE NODES"                      was found empty when all were
//   marked     "marked NONCE NODES"                        has lost its data; nothing is done yet
//   joining    "joining EPOCH LONGEST_MS NODES UNTIL_MS"   the others know of the epoch, which began
//                                                          after the mark; silent until then
// An EPOCH is "NUMBER.NONCE". ESTABLISHED is 1 if it is known that a majority has had it at one
// moment; before that nobody votes in it. OPENING is random: another one after each loss. RUN is the
// run id of the server process that it is open in: one that was started since may have come back with
// data of long ago, and is taken for one that lost all, unless it writes everything down at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engines/quorum/ballot.h"

namespace holdfast::internal::redlock {

struct Marker {
  enum class State { blank, founding, marked, joining, open, restarted };
  State state = State::blank;
  quorum::Era epoch;
  std::int64_t longest_ms = 0;  // the longest ttl that anybody may use
  std::size_t nodes = 0;        // of the electorate
  bool established = false;
  std::uint64_t opening = 0;
  std::string run;
  std::int64_t until_ms = 0;
  std::string text;  // as it stands there

  // Nothing if it is none.
  static std::optional<Marker> parse(std::string_view text);
  static std::string open_text(const quorum::Era& epoch, std::int64_t longest_ms, std::size_t nodes,
                               std::uint64_t opening, const std::string& run);
  // The same marker, open in another process.
  std::string in_run(const std::string& other) const;
};

std::string text_of(const quorum::Era& epoch);

}  // namespace holdfast::internal::redlock
