#include "engines/etcd/queue.h"

#include <algorithm>

#include "base/eternal.h"
#include "base/require.h"
#include "engines/table/admission.h"

namespace holdfast::internal::etcd {

namespace {

using Order = Range::Order;

Range range_of(const std::string& begin, const std::string& end, Order order, std::int64_t limit,
               Revision created_until, bool keys_only = false) {
  return Range{.key = begin,
               .end = end,
               .limit = limit,
               .order = order,
               .created_until = created_until,
               .keys_only = keys_only};
}

// The parts of an answer: the claim's own key, then by mode
//   exclusive  the newest three: itself, the one before it, and whether there is another before that
//   shared     the newest of those that are not shared, in two ranges
//   permit     the newest three; the oldest N + 1; a permit of another number, in two ranges
// and at the end the oldest, where it is needed. One scan of the queue, where one will do: etcd goes
// through all keys of a range to sort them.
enum Part { kOwn, kNewest, kBeside, kOther, kOtherBeside };

std::size_t oldest_part(Mode mode) {
  switch (mode) {
    case Mode::exclusive: return kBeside;
    case Mode::shared: return kOther;
    case Mode::permit: return kOtherBeside + 1;
  }
  return 0;
}

struct Parts {
  const TxnAnswer& answer;
  const Keys& keys;
  Mode mode;

  const KeyValue* oldest() const { return answer.first(oldest_part(mode)); }
  const std::vector<KeyValue>& pairs(Part part) const {
    static const Eternal<std::vector<KeyValue>> none = std::vector<KeyValue>();
    const auto at = static_cast<std::size_t>(part);
    return at < answer.parts.size() ? answer.parts[at].pairs : *none;
  }
  Entry entry(const KeyValue& pair) const { return entry_of(keys, pair); }
};

Predecessor predecessor(const Entry& entry, bool end_grants) {
  return Predecessor{
      .key = entry.key, .created = entry.created, .mode = entry.mode, .end_grants = end_grants};
}

// An exclusive claim that holds is alone: the next one waits for nobody else.
bool holds_alone(const Entry& entry, Revision oldest = 0) {
  return entry.mode == Mode::exclusive && (entry.created == oldest || entry.note.granted);
}

void judge_exclusive(const Parts& parts, Position& position) {
  const std::vector<KeyValue>& newest = parts.pairs(kNewest);
  if (newest.empty() || newest.front().created != position.created) {
    position.state = Position::State::hidden;
    return;
  }
  position.state = newest.size() == 1 ? Position::State::holds : Position::State::waits;
  if (newest.size() == 1) return;
  const Entry before = parts.entry(newest[1]);
  position.predecessors = {predecessor(before, newest.size() == 2 || holds_alone(before))};
}

void judge_shared(const Parts& parts, Position& position) {
  const Revision oldest = parts.oldest() ? parts.oldest()->created : 0;
  std::optional<Entry> nearest;
  for (const Part part : {kNewest, kBeside}) {
    for (const KeyValue& pair : parts.pairs(part)) {
      if (pair.created > position.created) {
        position.state = Position::State::hidden;  // This one came after us, and hides another.
        return;
      }
      if (!nearest || pair.created > nearest->created) nearest = parts.entry(pair);
    }
  }
  position.state = nearest ? Position::State::waits : Position::State::holds;
  if (nearest) position.predecessors = {predecessor(*nearest, holds_alone(*nearest, oldest))};
}

void judge_permit(const Parts& parts, const Claim& claim, Position& position) {
  for (const Part part : {kOther, kOtherBeside}) {
    for (const KeyValue& pair : parts.pairs(part)) {
      if (pair.created > position.created) continue;  // That one will be refused.
      position.state = Position::State::other_limit;
      position.other_permits = parts.entry(pair).permits;
      return;
    }
  }
  std::vector<Predecessor> before;
  bool all_permits = true;
  for (const KeyValue& pair : parts.pairs(kBeside)) {
    if (pair.created >= position.created) continue;
    const Entry entry = parts.entry(pair);
    all_permits = all_permits && entry.mode == Mode::permit;
    before.push_back(predecessor(entry, true));
  }
  if (all_permits && before.size() < claim.permits) {
    position.state = Position::State::holds;
    return;
  }
  position.state = Position::State::waits;
  if (all_permits && before.size() == claim.permits) {
    position.predecessors = std::move(before);  // The next permit that is given back is ours.
    return;
  }
  const std::vector<KeyValue>& newest = parts.pairs(kNewest);
  if (newest.size() < 2 || newest.front().created != position.created) {
    position.state = Position::State::hidden;
    return;
  }
  position.predecessors = {predecessor(parts.entry(newest[1]), false)};
}

Busy busy_of(const Parts& parts, bool present) {
  Busy busy;
  if (!parts.oldest()) return busy;
  const Entry oldest = parts.entry(*parts.oldest());
  busy.holder = oldest.label();
  busy.token = static_cast<std::uint64_t>(oldest.created);
  if (!oldest.foreign) busy.expires_in = oldest.note.ttl;
  const std::int64_t all = parts.answer.parts[oldest_part(parts.mode)].count;
  const std::int64_t others = 1 + (present ? 1 : 0);  // the holder, and the claim itself
  busy.rank = static_cast<std::uint64_t>(all > others ? all - others : 0);
  return busy;
}

}  // namespace

void add_reads(Txn& txn, Txn::Branch branch, const Keys& keys, const Claim& claim,
               const std::string& own, Revision created, Detail detail) {
  const auto add = [&](const Range& range) { txn.range(branch, range); };
  if (!own.empty()) add(Range{.key = own, .end = {}});
  if (claim.mode == Mode::shared) {
    add(range_of(keys.base, keys.shared_begin, Order::newest_first, 1, created));
    add(range_of(keys.shared_end, keys.end, Order::newest_first, 1, created));
  } else {
    add(range_of(keys.base, keys.end, Order::newest_first, 3, created));
  }
  if (claim.mode == Mode::permit) {
    const std::int64_t some = std::int64_t{claim.permits} + 1;
    add(range_of(keys.base, keys.end, Order::oldest_first, some, created, true));
    const std::string begin = keys.permits_begin_of(claim.permits);
    const std::string end = keys.permits_end_of(claim.permits);
    add(range_of(keys.permits_begin, begin, Order::oldest_first, 1, created, true));
    add(range_of(end, keys.permits_end, Order::oldest_first, 1, created, true));
  }
  if (detail == Detail::with_holder || claim.mode == Mode::shared) {
    add(range_of(keys.base, keys.end, Order::oldest_first, 1, 0));
  }
}

Position position_of(const Keys& keys, const Claim& claim, const TxnAnswer& answer) {
  const Parts parts{answer, keys, claim.mode};
  Position position;
  position.seen_at = answer.header.revision;
  // (Another claim at our key would be a mistake of ours; it must not become our hold.)
  const bool present =
      !parts.pairs(kOwn).empty() && parts.entry(parts.pairs(kOwn).front()).id == claim.id;
  position.busy = busy_of(parts, present);
  if (present) {
    position.created = parts.pairs(kOwn).front().created;
    position.lease = parts.pairs(kOwn).front().lease;
    if (claim.mode == Mode::exclusive) judge_exclusive(parts, position);
    if (claim.mode == Mode::shared) judge_shared(parts, position);
    if (claim.mode == Mode::permit) judge_permit(parts, claim, position);
    return position;
  }
  // A permit that is only asked for: is there room, and is the number right?
  if (claim.mode != Mode::permit) return position;
  position.created = INT64_MAX;
  judge_permit(parts, claim, position);
  position.created = 0;
  if (position.state != Position::State::other_limit && position.state != Position::State::holds) {
    position.state = Position::State::waits;
  }
  return position;
}

Effect effect_of(Predecessor& predecessor, const Keys& keys, const Claim& claim,
                 const WatchEvent& event) {
  // An earlier claim's, at the same key.
  if (event.pair.modified < predecessor.created) return Effect::none;
  if (event.removed) {
    if (predecessor.end_grants) return Effect::granted;
    // If it held alone when it ended, everything before it is gone.
    const bool held = event.before && event.before->created == predecessor.created &&
                      claim.mode != Mode::permit && holds_alone(entry_of(keys, *event.before));
    return held ? Effect::granted : Effect::read_again;
  }
  // (A later claim has the key now, so the one that we watched is gone.)
  if (event.pair.created > predecessor.created) return Effect::read_again;
  const Entry entry = entry_of(keys, event.pair);
  if (!entry.note.granted || predecessor.end_grants) return Effect::none;
  if (claim.mode != Mode::permit && entry.mode == Mode::exclusive) {
    predecessor.end_grants = true;  // It holds now, and alone.
    return Effect::none;
  }
  return claim.mode == Mode::permit ? Effect::read_again : Effect::none;
}

std::size_t count_holders(const std::vector<Entry>& entries) {
  HOLDFAST_REQUIRE_DEBUG(
      std::is_sorted(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.created < b.created; }));
  Holders holders;
  std::size_t count = 0;
  for (const Entry& entry : entries) {
    if (!admits(holders, entry.mode, entry.permits)) break;
    if (entry.mode == Mode::exclusive) {
      holders.exclusive = true;
    } else {
      holders.sharing_mode = entry.mode;
      ++holders.sharing;
    }
    ++count;
  }
  return count;
}

}  // namespace holdfast::internal::etcd
