// The queue policy of all lock tables: who holds next. Turn follows it step by step. The statements that grant a lock
// by themselves are its simplest cases, and leave all others to a turn.
//
//   1. Holders that have expired, or whose process is gone, hold no more.
//   2. The head of the queue is dropped if its process is gone, and granted the lock if admits() allows it; then the
//      same goes for the next head. Nobody passes a head that waits.
//   3. The token of a grant is max(last + 1, the store's clock in microseconds). It holds for the winner's ttl if the
//      winner asked for it just now; else for at most Turn::kProvisionalTtl, until the winner renews it.
//
// The statements for exclusive claims that need no turn. Each changes nothing where it does not apply, so they can be
// tried in any order, and a turn serves what is left:
//
//   statement   the queue                                   the lock
//   take        is empty, and nobody holds (any more)       is the caller's, by rule 3
//   free        is empty                                    is nobody's
//   pass_on     its head is alive, and wants it alone       is the head's, by rule 3
#pragma once

#include "engines/table/admission.h"

namespace holdfast::internal::table {

enum class HeadFate { dropped, granted, waits };

constexpr HeadFate fate_of_head(const Holders& now, Mode mode, std::uint32_t permits, bool gone) {
  if (gone) return HeadFate::dropped;
  return admits(now, mode, permits) ? HeadFate::granted : HeadFate::waits;
}

}  // namespace holdfast::internal::table
