// The Lua scripts: each operation on a lock is one script, so it happens as a whole.
//
// Keys of the lock NAME, all in its hash slot:
//   word     NAME itself, with PX. An exclusive holder's is "CLAIM LABEL": any value that nobody
//            else has will do, so this is just what `SET NAME value NX PX ttl` makes, and every
//            other client's lock on this key excludes ours. Shared holders: "holdfast:shared",
//            permits: "holdfast:permits N", until the last of them ends.
//   token    the last token, an integer: one more than the last, or the server's clock in
//            microseconds if that is more than a millisecond ahead of it. So a counter that was
//            lost, or restored from older data, goes on above all that it has given before, unless
//            the clock was set back. (The millisecond: a busy lock should only count. No server
//            comes back in less.) It is kept for a day.
//   queue    sorted set of waiting claims by the microsecond in which they came:
//            "CLAIM MODE PERMITS TTL_MS CHANNEL LABEL"; and at times a roll call, see serving.cc
//   holders  sorted set of shared or permit claims, by their expiry in the server's milliseconds
//   holds    hash: shared or permit claim -> "TOKEN SINCE_US LABEL"
//
// The word decides: without it nobody holds, whatever the other keys say.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast::internal::redis {

// As the scripts count time; never less than it is.
inline std::int64_t milliseconds_of(std::chrono::nanoseconds span) {
  return std::chrono::ceil<std::chrono::milliseconds>(span).count();
}

// A script and the digest under which servers know it, as the first of them told.
struct Script {
  const std::string& source;
  std::string digest;
};

// All take KEYS: word token queue holders holds.

// Takes the lock if it is free and nobody waits: exclusive, with a ttl up to kLongestTaken.
// KEYS: word token queue.  ARGV: "CLAIM LABEL" ttl_ms
// The token; or what acquire says if a client of ours holds it; or 0: ask acquire.
const std::string& take_source();
// The token key is not made to outlive a longer one.
inline constexpr std::chrono::minutes kLongestTaken{10};
inline constexpr std::size_t kKeysOfTake = 3;

// ARGV: "CLAIM LABEL" ttl_ms mode(x|s|p) permits queue(0|1|2) "MODE PERMITS TTL_MS CHANNEL LABEL"; queue 2: it
// looks again. A waiter that looks or comes back adds: its age in us, when it came by the server's clock (0:
// unknown), 1 if the server may have lost its queue, and other texts under which it may stand there.
// The token; or {0, holder_token, holder's word, pttl_ms, rank, foreign, more, came_us} if it is busy, where
// `more` means: ask again at once, there was more to do than one script may; or {2, permits} if the semaphore
// has another number of permits.
const std::string& acquire_source();
// ARGV: claim, and if it may be waiting the texts under which it may stand in the queue; or claim and "": goes
// on serving. 1 if it held, 0 if it waited or was not there; 2 more if the queue was not served to its end.
const std::string& release_source();
// An exclusive claim's renewal.  KEYS: word token.  ARGV: claim ttl_ms.  1 or 0.
const std::string& keep_source();
// A shared or permit claim's renewal.  ARGV: claim ttl_ms.  1 or 0.
const std::string& renew_source();
// ARGV: token.  1 or 0.
const std::string& evict_source();
// {word, pttl, token, holders [claim, expiry]*, holds [claim, text]*, queue [member, since]*,
//  now_us}; the keys are only read.
const std::string& inspect_source();

// Of a record. KEYS: record.
// The record, or nil.
const std::string& read_record_source();
// ARGV: expected(0|1) EXPECTED value(0|1) VALUE write(0|1). With `write` also a record that is there already is
// written: since Redis 7.2 WAIT waits for what its connection wrote last, and this may be another connection.
// 1 if the record is VALUE now, 0 if it was not EXPECTED.
const std::string& swap_record_source();
// {seconds, microseconds}
const std::string& time_source();

}  // namespace holdfast::internal::redis
