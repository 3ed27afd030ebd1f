// The end of a claim that is given up: cancelled, timed out, or of unknown outcome. Its engine withdraws it by id,
// by Deadlines::withdrawal(), and the caller is told:
//
//   the withdrawal             the claim ended with    the caller hears
//   succeeded                  unknown                 unreachable: nothing is held, which is known now
//   succeeded                  another reason          that reason
//   failed with misconfigured  any                     that failure: no later attempt would succeed either
//   failed otherwise           any                     unknown: Locker goes on withdrawing in the background
#pragma once

#include "base/unreachable_instead_of_unknown.h"

namespace holdfast::internal {

template <class T>
Failure after_withdrawal(const Failure& why, const Result<T>& withdrawn) {
  if (withdrawn) return unreachable_instead_of_unknown(why);
  if (withdrawn.code() == Code::misconfigured) return withdrawn.failure();
  return Failure(Code::unknown,
                 why.message() + "; and the claim could not be taken back: " + withdrawn.message());
}

}  // namespace holdfast::internal
