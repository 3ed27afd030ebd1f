// Mark: what a fence remembers, and the rule by which it admits. All fences of this library follow
// it: gates, RedisFence and the statements of sql.h say the same in their store's own language.
//
//   shown                 admitted if            the mark afterwards
//   exclusive token t     t >= newest            writer = newest = t
//   shared token t        t >= writer            newest = max(newest, t)
//
// So readers do not shut each other out; a late writer is refused after any later holder, a late
// reader after any later writer. The edges:
//
//   t == newest, exclusive   the same holder again. If it came as a reader before, it is a writer
//                            from now on: `writer` rises although `newest` does not.
//   t == writer, shared      the writer reads. Admitted also after later readers: nobody has
//                            written since.
//   writer <= t < newest,    a reader beside newer ones. The mark stays as it is.
//     shared
//   a permit                 no mark can tell: see problem_with().
//
// A store that was written by a program without modes has one number. It counts as both: such a
// program may have admitted a writer with it.
//
// Thread safety: values and functions without state.
#pragma once

#include <algorithm>
#include <optional>

#include "holdfast/result.h"
#include "holdfast/ticket.h"

namespace holdfast::internal::fence {

struct Mark {
  Token writer;  // the highest exclusive token admitted; never above `newest`
  Token newest;  // the highest token of all

  static Mark of_one_number(Token token) { return {token, token}; }
  friend bool operator==(const Mark&, const Mark&) = default;
};

// The mark after `ticket` was admitted; nothing if it is stale. REQUIRES: !problem_with(ticket).
inline std::optional<Mark> admitted(const Mark& mark, const Ticket& ticket) {
  if (ticket.mode == Mode::shared) {
    if (ticket.token < mark.writer) return std::nullopt;
    return Mark{mark.writer, std::max(mark.newest, ticket.token)};
  }
  if (ticket.token < mark.newest) return std::nullopt;
  return Mark{ticket.token, ticket.token};
}

// The highest token that outranks a stale ticket, for messages.
inline Token outranking(const Mark& mark, const Ticket& ticket) {
  return ticket.mode == Mode::shared ? mark.writer : mark.newest;
}

// Why no fence can check this ticket: it has no token, or is a permit. Of N permits the oldest may
// be valid still after any number of later grants, so there is no mark below which all are late.
std::optional<Failure> problem_with(const Ticket& ticket);
// The same for a write: a shared lease gives the right to read.
std::optional<Failure> problem_with_write(const Ticket& ticket);

}  // namespace holdfast::internal::fence
