// Marker: what a node says of its own part in the electorate. Kept on the node in one key, and
// compared with every vote: a node that has lost its data has lost its marker too, so it does not
// vote until it has rejoined.
//
//   blank ──found──► founding ───────────change───────────► open
//     │                                                      ▲ │ restarted: another RUN
//     └──────mark──► marked ──join──► joining ────change─────┘ │
//                      ▲  ▲              │                     │
//                      │  └──restarted───┘                     │
//                      └───────────────────────────────────────┘
//
//   open       "EPOCH LONGEST_MS NODES ESTABLISHED OPENING RUN[ above=FLOOR]"
//   founding   "founding NONCE NODES RUN"      was found empty when all were
//   marked     "marked NONCE NODES EPOCH LONGEST_MS FLOOR MEMORY RUN"
//                                              is known to be closed; nothing is done yet
//   joining    "joining EPOCH LONGEST_MS NODES FLOOR MEMORY RUN UNTIL_MS"
//                                              EPOCH began after the mark; silent until then
//
// An EPOCH is "NUMBER.NONCE". ESTABLISHED is 1 if it is known that a majority has had it at one
// moment; before that nobody votes in it. OPENING is random: another one after each loss. RUN is the
// run id of the server process in which the marker was written, in every state: a marker that names
// another process may be a copy of long ago, so it says nothing but "restarted". FLOOR: no token up to
// this one is voted for; 0 unless the electorate was refounded. MEMORY: 0 the node has lost its data,
// 1 it was open before it was closed, 2 and it comes back by refounding.
// (Earlier versions wrote no RUN into the closed states; those are read as restarted, and empty.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engines/quorum/ballot.h"

namespace holdfast::internal::redlock {

struct Marker {
  enum class State { blank, founding, marked, joining, open, restarted };
  enum class Memory { none, older, refounds };
  State state = State::blank;
  quorum::Era epoch;
  std::int64_t longest_ms = 0;  // the longest ttl that anybody may use
  std::size_t nodes = 0;        // of the electorate
  bool established = false;
  std::uint64_t opening = 0;
  std::uint64_t floor = 0;
  Memory memory = Memory::none;
  std::string run;
  std::int64_t until_ms = 0;
  std::string text;  // as it stands there

  // Nothing if it is none.
  static std::optional<Marker> parse(std::string_view text);
  // Whether the node was open, and so knows the tokens of some time.
  bool remembers() const { return state == State::open || memory != Memory::none; }

  static std::string open_text(const quorum::Era& epoch, std::int64_t longest_ms, std::size_t nodes,
                               std::uint64_t opening, const std::string& run, std::uint64_t floor);
  // The node is closed in this process, and keeps in mind what the marker said.
  std::string marked_text(std::uint64_t nonce, std::size_t size, const std::string& in_run) const;
  // Without UNTIL_MS, but with the space in front of it. Of the same process.
  std::string joining_text(const quorum::Era& to, std::int64_t longest, std::uint64_t above,
                           Memory how) const;
};

std::string text_of(const quorum::Era& epoch);

}  // namespace holdfast::internal::redlock
