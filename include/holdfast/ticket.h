// Ticket: what a holder shows at a fence: its token, and in which mode it holds the lock.
//
//   gate.enter(lease)                      the lease knows both
//   gate.enter({token, Mode::shared})      both came with a request
//   gate.enter(token)                      a token alone counts as exclusive
//
// A fence takes the mode on trust. A shared token that is shown as exclusive shuts out the other
// readers, which is safe; an exclusive one that is shown as shared is admitted after later readers,
// which is not. Show one lease in one mode, its own: also when an exclusive holder only reads.
//
// Thread safety: a value.
#pragma once

#include "holdfast/engine.h"
#include "holdfast/ids.h"

namespace holdfast {

class Lease;

struct Ticket {
  Ticket(Token shown, Mode held = Mode::exclusive)  // NOLINT(google-explicit-constructor)
      : token(shown), mode(held) {}
  // Token 0, which every fence refuses, if the lease is empty.
  Ticket(const Lease& lease);  // NOLINT(google-explicit-constructor): it is the lease's

  Token token;
  Mode mode;
};

}  // namespace holdfast
