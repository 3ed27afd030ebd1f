// The queue of a lock: what to ask etcd for, and what its answer means for a claim. Pure; all
// reading and writing is done by the engine.
//
// Who holds: the keys in the order of their create revisions, as long as each may hold together
// with all before it. So an exclusive claim holds when its key is the oldest of all, a shared one
// when all before it are shared, a permit when all before it are permits and fewer than N.
#pragma once

#include <string>
#include <vector>

#include "engines/etcd/keys.h"

namespace holdfast::internal::etcd {

// A key in the way of a claim that waits.
struct InTheWay {
  std::string key;
  Revision created = 0;
  Mode mode = Mode::exclusive;
  // Its end is our turn, without another look: everything before us is known to hold, or to be
  // this one alone. (Its holder says when it begins to hold: see Note::granted.)
  bool last = false;

  friend bool operator==(const InTheWay&, const InTheWay&) = default;
};

struct Standing {
  enum class State {
    absent,  // the claim's key is not there
    holds,
    waits,         // for what is in the way
    other_number,  // others want another number of permits
    unclear,       // it is there, but what is before it was not seen: look again
  };
  State state = State::absent;
  Revision seen_at = 0;  // the revision of the answer
  Revision created = 0;  // of the claim's key: its token
  LeaseId lease = 0;     // of the claim's key
  std::vector<InTheWay> in_the_way;
  std::uint32_t other_permits = 0;
  Busy busy;
};

// Standing::busy is filled in only with_holder: that costs etcd another scan of the queue.
enum class Look { plain, with_holder };

// Adds to a transaction what shows where `claim`, whose key is `own`, stands. `created` is its own
// revision; 0 if that is not known, or it is not there: then the newest are shown. Without `own` the
// caller has to fill in that part of the answer, the first.
void add_look(Txn& txn, Txn::Branch branch, const Keys& keys, const Claim& claim,
              const std::string& own, Revision created = 0, Look how = Look::plain);
// What the answer says; the answers to add_look() begin at the part `from`.
Standing standing_of(const Keys& keys, const Claim& claim, const TxnAnswer& answer,
                     std::size_t from);

// What an event at a key in the way means.
enum class News { nothing, our_turn, look_again };
News news_of(InTheWay& key, const Keys& keys, const Claim& claim, const WatchEvent& event);

// REQUIRES: sorted by create revision. How many of the first hold.
std::size_t count_holders(const std::vector<Entry>& entries);

}  // namespace holdfast::internal::etcd
