// Verdict: what an answer of etcd's says about the call: was it executed, and who should be asked
// again? Pure.
//
//   status                                                      executed       then
//   OK                                                          yes            done
//   wrong arguments, no right, no such lease, no space, …       no             refused
//   the login has expired                                       no             log in, ask again
//   the leader hands over its office ("proposal dropped")       no             ask the same member again
//   the leader changed meanwhile                                perhaps        ask the same member again
//   no leader, not the leader, learner, too many requests       no             ask the next member
//   Unavailable, Unknown, Internal, any status not named here   perhaps        ask the next member
#pragma once

#include <string>
#include <string_view>

namespace holdfast::internal::etcd {

// gRPC's numbers.
enum GrpcStatus {
  kInvalidArgument = 3,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kUnauthenticated = 16
};

// `unsure`: it may have been executed. `here`: nothing is wrong with the member.
enum class Verdict {
  answered,
  refused,
  again_here,
  again_here_unsure,
  again_elsewhere,
  again_elsewhere_unsure,
  log_in_again
};

Verdict verdict_on(int status, std::string_view message);

// The token is not valid (any more), or there is none where one is wanted now.
bool is_about_token(std::string_view message);

inline bool says(std::string_view message, std::string_view part) {
  return message.find(part) != std::string_view::npos;
}

}  // namespace holdfast::internal::etcd
