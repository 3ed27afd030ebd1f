#include "engines/etcd/verdict.h"

namespace holdfast::internal::etcd {

bool is_about_token(std::string_view message) {
  return says(message, "invalid auth token") || says(message, "revision of auth store is old") ||
         says(message, "user name is empty");
}

Verdict verdict_on(int status, std::string_view message) {
  if (status == 0) return Verdict::answered;
  if (status == kUnauthenticated || is_about_token(message)) {
    return Verdict::log_in_again;
  }
  const auto about = [&](std::string_view part) { return says(message, part); };
  // The leader is handing over its office, and takes no proposals (Unknown, as etcd has no status of
  // its own for it).
  if (about("proposal dropped")) return Verdict::again_here;
  if (about("leader changed")) return Verdict::again_here_unsure;
  // These were not proposed at all.
  if (about("no leader") || about("not leader") || about("not capable") || about("learner") ||
      about("too many requests")) {
    return Verdict::again_elsewhere;
  }
  switch (status) {
    case kInvalidArgument:
    case kNotFound:
    case kAlreadyExists:
    case kPermissionDenied:
    case kResourceExhausted:
    case kFailedPrecondition:
    case kOutOfRange:
    case kUnimplemented: return Verdict::refused;
    // Unavailable (a time-out, a stopped server), and whatever else there is or will be: nobody can
    // say that it was not executed.
    default: return Verdict::again_elsewhere_unsure;
  }
}

}  // namespace holdfast::internal::etcd
