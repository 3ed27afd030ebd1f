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

// The parts of a look: the claim's own key, then by mode
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
  std::size_t from;
  const Keys& keys;
  Mode mode;

  const KeyValue* oldest() const { return answer.first(from + oldest_part(mode)); }
  const std::vector<KeyValue>& pairs(Part part) const {
    static const Eternal<std::vector<KeyValue>> none = std::vector<KeyValue>();
    const std::size_t at = from + static_cast<std::size_t>(part);
    return at < answer.parts.size() ? answer.parts[at].range.pairs : *none;
  }
  Entry entry(const KeyValue& pair) const { return entry_of(keys, pair); }
};

InTheWay in_the_way(const Entry& entry, bool last) {
  return InTheWay{.key = entry.key, .created = entry.created, .mode = entry.mode, .last = last};
}

// An exclusive claim that holds is alone: what comes next waits for nobody else.
bool holds_alone(const Entry& entry, Revision oldest = 0) {
  return entry.mode == Mode::exclusive && (entry.created == oldest || entry.note.granted);
}

void judge_exclusive(const Parts& parts, Standing& standing) {
  const std::vector<KeyValue>& newest = parts.pairs(kNewest);
  if (newest.empty() || newest.front().created != standing.created) {
    standing.state = Standing::State::unclear;
    return;
  }
  standing.state = newest.size() == 1 ? Standing::State::holds : Standing::State::waits;
  if (newest.size() == 1) return;
  const Entry before = parts.entry(newest[1]);
  standing.in_the_way = {in_the_way(before, newest.size() == 2 || holds_alone(before))};
}

void judge_shared(const Parts& parts, Standing& standing) {
  const Revision oldest = parts.oldest() ? parts.oldest()->created : 0;
  std::optional<Entry> nearest;
  for (const Part part : {kNewest, kBeside}) {
    for (const KeyValue& pair : parts.pairs(part)) {
      if (pair.created > standing.created) {
        standing.state = Standing::State::unclear;  // It came after us, and hides who was before.
        return;
      }
      if (!nearest || pair.created > nearest->created) nearest = parts.entry(pair);
    }
  }
  standing.state = nearest ? Standing::State::waits : Standing::State::holds;
  if (nearest) standing.in_the_way = {in_the_way(*nearest, holds_alone(*nearest, oldest))};
}

void judge_permit(const Parts& parts, const Claim& claim, Standing& standing) {
  for (const Part part : {kOther, kOtherBeside}) {
    for (const KeyValue& pair : parts.pairs(part)) {
      if (pair.created > standing.created) continue;  // That one will be refused.
      standing.state = Standing::State::other_number;
      standing.other_permits = parts.entry(pair).permits;
      return;
    }
  }
  std::vector<InTheWay> before;
  bool all_permits = true;
  for (const KeyValue& pair : parts.pairs(kBeside)) {
    if (pair.created >= standing.created) continue;
    const Entry entry = parts.entry(pair);
    all_permits = all_permits && entry.mode == Mode::permit;
    before.push_back(in_the_way(entry, true));
  }
  if (all_permits && before.size() < claim.permits) {
    standing.state = Standing::State::holds;
    return;
  }
  standing.state = Standing::State::waits;
  if (all_permits && before.size() == claim.permits) {
    standing.in_the_way = std::move(before);  // The next who gives one back makes room for us.
    return;
  }
  const std::vector<KeyValue>& newest = parts.pairs(kNewest);
  if (newest.size() < 2 || newest.front().created != standing.created) {
    standing.state = Standing::State::unclear;
    return;
  }
  standing.in_the_way = {in_the_way(parts.entry(newest[1]), false)};
}

Busy busy_of(const Parts& parts, bool present) {
  Busy busy;
  if (!parts.oldest()) return busy;
  const Entry oldest = parts.entry(*parts.oldest());
  busy.holder = oldest.label();
  busy.token = static_cast<std::uint64_t>(oldest.created);
  if (!oldest.foreign) busy.expires_in = oldest.note.ttl;
  const std::int64_t all = parts.answer.parts[parts.from + oldest_part(parts.mode)].range.count;
  const std::int64_t before = 1 + (present ? 1 : 0);  // who holds, and the claim itself
  busy.rank = static_cast<std::uint64_t>(all > before ? all - before : 0);
  return busy;
}

}  // namespace

void add_look(Txn& txn, Txn::Branch branch, const Keys& keys, const Claim& claim,
              const std::string& own, Revision created, Look how) {
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
  if (how == Look::with_holder || claim.mode == Mode::shared) {
    add(range_of(keys.base, keys.end, Order::oldest_first, 1, 0));
  }
}

Standing standing_of(const Keys& keys, const Claim& claim, const TxnAnswer& answer,
                     std::size_t from) {
  const Parts parts{answer, from, keys, claim.mode};
  Standing standing;
  standing.seen_at = answer.header.revision;
  // (Another's claim in our place would be a mistake of ours; it must not become our hold.)
  const bool present =
      !parts.pairs(kOwn).empty() && parts.entry(parts.pairs(kOwn).front()).id == claim.id;
  standing.busy = busy_of(parts, present);
  if (present) {
    standing.created = parts.pairs(kOwn).front().created;
    standing.lease = parts.pairs(kOwn).front().lease;
    if (claim.mode == Mode::exclusive) judge_exclusive(parts, standing);
    if (claim.mode == Mode::shared) judge_shared(parts, standing);
    if (claim.mode == Mode::permit) judge_permit(parts, claim, standing);
    return standing;
  }
  // For those who only look: is there room, and is the number right?
  if (claim.mode != Mode::permit) return standing;
  standing.created = INT64_MAX;
  judge_permit(parts, claim, standing);
  standing.created = 0;
  if (standing.state != Standing::State::other_number && standing.state != Standing::State::holds) {
    standing.state = Standing::State::waits;
  }
  return standing;
}

News news_of(InTheWay& key, const Keys& keys, const Claim& claim, const WatchEvent& event) {
  // Of a claim that had the key before this one.
  if (event.pair.modified < key.created) return News::nothing;
  if (event.removed) {
    if (key.last) return News::our_turn;
    // What it was when it ended: the holder, alone? Then whatever was before it is gone.
    const bool held = event.before && event.before->created == key.created &&
                      claim.mode != Mode::permit && holds_alone(entry_of(keys, *event.before));
    return held ? News::our_turn : News::look_again;
  }
  // (A claim that came later has the key now: so ours to watch is gone.)
  if (event.pair.created > key.created) return News::look_again;
  const Entry entry = entry_of(keys, event.pair);
  if (!entry.note.granted || key.last) return News::nothing;
  if (claim.mode != Mode::permit && entry.mode == Mode::exclusive) {
    key.last = true;  // It holds now, and alone.
    return News::nothing;
  }
  return claim.mode == Mode::permit ? News::look_again : News::nothing;
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
