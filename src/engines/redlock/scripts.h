// The Lua scripts of a node: each runs atomically there. The protocol is described in
// docs/REDLOCK.md. All take KEYS: word fence marker queue group details.
//
//   word     who has this node's vote: "CLAIM ATTEMPT LABEL" with a ttl, where other clients have
//            theirs, or "holdfast:shared"
//   fence    "TOKEN CLAIM": the highest token that was accepted here, and for whom. Without a ttl.
//   marker   see marker.h
//   queue    who waits here: "CLAIM MODE 1 KEEP_MS CHANNEL 0 LABEL" by the time they came
//   group    shared holders by the time of their end
//   details  "TOKEN SINCE_US ATTEMPT LABEL" by claim
#pragma once

#include <string>

namespace holdfast::internal::redlock {

// The vote on a lock that nobody else wants: exclusive, and the claim does not wait.
// KEYS: the first four.  ARGV: "CLAIM ATTEMPT LABEL" ttl_ms token marker
// As below; or 0: ask below.
const std::string& take_source();
// Its release.  KEYS: word queue.  ARGV: claim attempt.  1; or 2: ask below.
const std::string& give_source();

// ARGV: "CLAIM ATTEMPT LABEL" ttl_ms token marker mode(x|s) arrival "MODE 1 KEEP_MS CHANNEL 0 LABEL"
// and 1 if the claim holds the lock with this token already; else 0.
// arrival: "AGE_US WALL_US", how long it has been waiting and since when; "0": it does not.
// 1: locked and accepted. {low, fence, most, own}: locked, but the token was not accepted; own: 1 if
// the fence is the claim's own. most: above that none is accepted; 0: not said.
// {busy, fence, word, pttl_ms, rank}.  {closed, marker}.
const std::string& vote_source();
// ARGV: claim token marker mode.  As above; {gone} if the word is not the claim's any more.
const std::string& fence_source();
// ARGV: claim ttl_ms token mode.  1 held, 2 free, 0 lost.
const std::string& renew_source();
// ARGV: claim arrival "MODE 1 KEEP_MS CHANNEL 0 LABEL" attempt.  1 if it was the claim's, and of no
// later attempt; else 0.
const std::string& release_source();
// ARGV: token.  1 or 0.
const std::string& evict_source();
// As the inspect script of the engine for one server.
const std::string& inspect_source();

// The life of a marker. All take KEYS: marker, and behind their own ARGV the run id of the process
// that they are sent to; all return {marker, now_ms} as it is afterwards.
const std::string& look_source();
const std::string&
found_source();  // ARGV: nonce nodes.  From blank, or founding of another run, to founding
const std::string& mark_source();  // ARGV: nonce nodes.  From blank or founding to marked
const std::string&
raise_source();  // ARGV: number nonce longest_ms established floor.  All only grow
const std::string& join_source();    // ARGV: marker, what it becomes but for UNTIL_MS, longest_ms
const std::string& change_source();  // ARGV: marker as it must be, marker as it becomes

// Raises fences at a node that is joining.  KEYS: marker fence...  ARGV: marker token...
// 1, or 0 if the marker is another by now. They are nobody's, also those that the node had: a claim
// that was accepted elsewhere was not accepted here, and since an older copy was made the same token
// may have been accepted here for another.
const std::string& adopt_source();

}  // namespace holdfast::internal::redlock
