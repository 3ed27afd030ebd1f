// What runs inside the server: each operation on a lock is one script, so it happens as a whole.
//
// Keys of the lock NAME, all in its hash slot:
//   word     NAME itself, with PX. An exclusive holder's is "CLAIM LABEL": any value that nobody
//            else has will do, so this is just what `SET NAME value NX PX ttl` makes, and every
//            other client's lock on this key excludes ours. Shared holders: "holdfast:shared",
//            permits: "holdfast:permits N", until the last of them ends.
//   token    the last token, an integer. Gone a day after it was first drawn, at the earliest;
//            then the server's clock in microseconds seeds it again, which is beyond any token
//            that counting has reached since.
//   queue    sorted set of waiting claims by the microsecond in which they came:
//            "CLAIM MODE PERMITS TTL_MS CHANNEL LABEL"
//   holders  sorted set of shared or permit claims, by their expiry in the server's milliseconds
//   holds    hash: shared or permit claim -> "TOKEN SINCE_US LABEL"
//
// The word decides: without it nobody holds, whatever the other keys say.
#pragma once

#include <string>

namespace holdfast::internal::redis {

// A script and the digest under which servers know it, as the first of them told.
struct Script {
  const std::string& source;
  std::string digest;
};

// All take KEYS: word token queue holders holds.

// ARGV: "CLAIM LABEL" ttl_ms mode(x|s|p) permits queue(0|1) "MODE PERMITS TTL_MS CHANNEL LABEL"
// The token; or {0, holder_token, holder's word, pttl_ms, rank, foreign} if it is busy;
// or {2, permits} if the semaphore has another number of permits.
const std::string& acquire_source();
// ARGV: claim "MODE PERMITS TTL_MS CHANNEL LABEL".  1 if it held, 0 if it waited or was not there.
const std::string& release_source();
// ARGV: claim ttl_ms.  1 or 0.
const std::string& renew_source();
// ARGV: token.  1 or 0.
const std::string& evict_source();
// {word, pttl, token, holders [claim, expiry]*, holds [claim, text]*, queue [member, since]*,
//  now_us}; the keys are only read.
const std::string& inspect_source();

}  // namespace holdfast::internal::redis
