// Marker: what a node says of its own part in the electorate. Kept on the node in one key, and
// compared with every vote: a node that has lost its data has lost its marker too, so it does not
// vote until it has rejoined.
//
//             found              change
//   blank ────────────► founding ────────────► open ◄─┐ raise
//     │                  │ mark                 ▲ └───┘
//     └─────────┬────────┘                      │ change
//          mark ▼        join                   │
//            marked ────────────► joining ──────┘
//              ▲                  ▲ └──┘ join, change
//              │ change
//          restarted: open, marked or joining, by another process than the one that answers
//
// | state     | the node                                          | what any client does next               |
// | unseen    | has not answered this client yet                  | looks                                   |
// | blank     | is new, or has lost its data                      | founds it if all are, else marks it     |
// | founding  | was found empty when all were                     | opens it if a majority was              |
// | restarted | has its marker from an earlier process            | marks it                                |
// | marked    | is known to be closed; nothing is done yet        | begins an epoch and makes it join in it |
// | joining   | is silent until UNTIL_MS, then takes fences over  | makes it silent anew if its clock was   |
// |           |                                                   | set back; opens it in the end           |
// | open      | votes                                             | raises its epoch, longest ttl and floor |
//
// The words over the arrows are scripts. They compare the whole marker or change it in one state only, and the
// texts that they write come from the functions below, which require the state that is left.
//
//   open       "EPOCH LONGEST_MS NODES ESTABLISHED OPENING RUN[ above=FLOOR]"
//   founding   "founding NONCE NODES RUN"
//   marked     "marked NONCE NODES EPOCH LONGEST_MS FLOOR MEMORY RUN"
//   joining    "joining EPOCH LONGEST_MS NODES FLOOR MEMORY RUN UNTIL_MS"; EPOCH began after the mark
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
  enum class State { unseen, blank, founding, marked, joining, open, restarted };
  enum class Memory { none, older, refounds };
  State state = State::unseen;  // never `restarted`: that takes knowing the process
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

  // REQUIRES: founding or joining.
  std::string open_text(const quorum::Era& to, std::int64_t longest, std::size_t electorate,
                        std::uint64_t opening_nonce, std::uint64_t above) const;
  // Keeps in mind what the marker said. REQUIRES: open, marked or joining, and `in_run` is another process.
  std::string marked_text(std::uint64_t nonce, std::size_t electorate,
                          const std::string& in_run) const;
  // Without UNTIL_MS, but with the space in front of it. REQUIRES: marked or joining.
  std::string joining_text(const quorum::Era& to, std::int64_t longest, std::uint64_t above,
                           Memory how) const;
};

std::string text_of(const quorum::Era& epoch);

}  // namespace holdfast::internal::redlock
