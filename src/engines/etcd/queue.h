// The queue of a lock: what to read from etcd, and what the answer means for a claim. Pure; all
// input and output is the acquisition's.
//
// Holders are the keys in the order of their create revisions, as long as each may hold together
// with all before it. So an exclusive claim holds when its key is the oldest of all, a shared one
// when all before it are shared, a permit when all before it are permits and fewer than N.
#pragma once

#include <string>
#include <vector>

#include "engines/etcd/keys.h"

namespace holdfast::internal::etcd {

// A key that a waiting claim watches.
struct Predecessor {
  std::string key;
  Revision created = 0;
  Mode mode = Mode::exclusive;
  // Its end grants us the lock, and nothing has to be read: it is known to hold alone, or everything
  // before us holds. (A claim that had to wait says so when it holds: see Note::granted.)
  bool end_grants = false;

  friend bool operator==(const Predecessor&, const Predecessor&) = default;
};

// Where a claim is in its queue.
struct Position {
  enum class State {
    absent,  // its key is not there
    holds,
    waits,        // for its predecessors
    other_limit,  // others want another number of permits
    hidden,       // it is there, and newer keys hid its predecessors: read again with its revision
  };
  State state = State::absent;
  Revision seen_at = 0;  // the revision of the answer
  Revision created = 0;  // of the claim's key: its token
  LeaseId lease = 0;     // of the claim's key
  std::vector<Predecessor> predecessors;
  std::uint32_t other_permits = 0;
  Busy busy;
};

// Position::busy is filled in only with_holder: that costs etcd another scan of the queue.
enum class Detail { position, with_holder };

// Adds to a transaction the reads that show where `claim`, whose key is `own`, is. `created` is its own
// revision; 0 if that is not known, or it is not there: then the newest are shown. Without `own` the
// caller has to fill in that part of the answer, the first.
void add_reads(Txn& txn, Txn::Branch branch, const Keys& keys, const Claim& claim,
               const std::string& own, Revision created = 0, Detail detail = Detail::position);
// The answer to add_reads().
Position position_of(const Keys& keys, const Claim& claim, const TxnAnswer& answer);

// The meaning of an event at a predecessor.
enum class Effect { none, granted, read_again };
Effect effect_of(Predecessor& predecessor, const Keys& keys, const Claim& claim,
                 const WatchEvent& event);

// REQUIRES: sorted by create revision. How many of the first hold.
std::size_t count_holders(const std::vector<Entry>& entries);

}  // namespace holdfast::internal::etcd
