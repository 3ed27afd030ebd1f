#include "exit_status.h"

namespace holdfast::cli {

ExitStatus exit_status_of(Code code) {
  switch (code) {
    case Code::busy: return kBusy;
    case Code::not_held:
    case Code::stale_token: return kLost;
    case Code::invalid_argument:
    case Code::unsupported:  // Asked of an engine that cannot do it: the request is what is wrong.
      return kUsage;
    case Code::misconfigured: return kMisconfigured;
    case Code::unreachable:
    case Code::unknown:  // Sent and not answered is no "no": the engine is what is wrong.
      return kUnreachable;
    case Code::exhausted: return kExhausted;
    case Code::cancelled: return static_cast<ExitStatus>(kSignalBase + 2);
    case Code::forked:
    case Code::closed:
    case Code::would_deadlock: return kSoftware;
  }
  return kSoftware;
}

}  // namespace holdfast::cli
