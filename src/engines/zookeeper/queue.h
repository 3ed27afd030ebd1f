// Queue: who has a lock, and whom the others have to wait for, from the names of a lock's nodes.
// Pure decisions, no input or output.
//
// Why a list that was read once is enough. ZooKeeper numbers the children of a node in the order in
// which they are created. A claim reads the list after its own node was created: all that will ever
// be before it are in that list, or take the place of one that is. (The parent cannot be made anew,
// which would start the numbers again, as long as the claim's own node is in it.) So what is before
// it only becomes less, and
//
//   - if a single node of another program kept it out, the end of that node is the grant, whatever
//     the reason;
//   - a Holdfast claim that holds, and not by a permit, writes into its node when it gives it back, in
//     the transaction that deletes it, and nobody writes into such a node otherwise. An
//     exclusive holder has nobody before it. So the news that the node was written to, rather than only
//     deleted (as when a waiter leaves, or a session expires), means that all before it are gone;
//   - a Holdfast node that is only deleted may have moved: detaching a hold replaces its node by
//     another one of the same rank (paths.h). Nothing but a look at the list tells.
//
// In the first two cases the next one needs not look again. In all others it does.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/require.h"
#include "engines/zookeeper/paths.h"

namespace holdfast::internal::zookeeper {

// Numbers go on after the largest with the smallest, where they do: what is less than half the
// circle ahead comes later.
inline std::int32_t distance(std::int32_t from, std::int32_t to) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(to) -
                                   static_cast<std::uint32_t>(from));
}

// Around the largest number the order is lost. ZooKeeper (3.6 and later) does not store numbers
// beyond it: claims that come one by one all get the largest, and those that come at the same time
// get the smallest and on, again and again. So nobody holds by such a number; and a lock whose
// numbers run out is made anew, which starts them again, as soon as nobody is in its queue.
inline bool is_used_up(std::int32_t sequence) { return sequence < 0 || sequence == INT32_MAX; }
inline bool runs_out(std::int32_t sequence) {
  return sequence < 0 || sequence > INT32_MAX - (1 << 16);
}

// The claims among `children`, in the order in which they are served.
inline std::vector<ClaimNode> in_order(const std::vector<std::string>& children) {
  std::vector<ClaimNode> nodes;
  nodes.reserve(children.size());
  for (const std::string& child : children) {
    if (std::optional<ClaimNode> node = parse_claim_node(child)) nodes.push_back(*std::move(node));
  }
  if (nodes.size() < 2) return nodes;
  // All are less than half the circle from any of them.
  const std::int32_t pivot = nodes.front().sequence;
  std::sort(nodes.begin(), nodes.end(), [pivot](const ClaimNode& a, const ClaimNode& b) {
    const std::int32_t to_a = distance(pivot, a.sequence);
    const std::int32_t to_b = distance(pivot, b.sequence);
    return to_a != to_b ? to_a < to_b : a.name < b.name;
  });
  return nodes;
}

// A claim of this client that held alone, and is gone.
struct Former {
  std::int32_t sequence = 0;
  std::uint64_t czxid = 0;  // the transaction that made its node
};

// Whether a claim with this number, made by that transaction, is the only one in its queue. A lock
// counts all children that are ever made in it. The former had nobody before it; if ours has the
// next number, nothing was made in between either. Unless it is not the same lock any more: who
// deletes it and makes it again starts the numbers at 0. But then more transactions have passed than
// that number says, for each makes one claim, in Curator and kazoo as with us; and transactions have
// numbers, too. (Those begin again with each leader, and its number is the upper half.)
inline bool follows_directly(const Former& former, std::int32_t sequence, std::uint64_t czxid) {
  if (runs_out(sequence) || former.sequence < 0 || sequence != former.sequence + 1) return false;
  if (czxid >> 32 != former.czxid >> 32 || czxid <= former.czxid) return false;
  return czxid - former.czxid <= static_cast<std::uint64_t>(sequence);
}

// Whether the one at `index` holds: no others than those it can share with are before it.
inline bool holds(const std::vector<ClaimNode>& nodes, std::size_t index) {
  const ClaimNode& self = nodes[index];
  if (self.mode == Mode::exclusive) return index == 0;
  if (self.mode == Mode::permit && index >= self.permits) return false;
  return std::all_of(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(index),
                     [&](const ClaimNode& other) { return other.mode == self.mode; });
}

struct Decision {
  bool present = false;  // our own node is there
  bool granted = false;
  bool used_up = false;  // our own number says nothing about the order
  // Our claim has another node, of an earlier attempt whose answer was lost: that one counts.
  std::optional<std::string> elder;
  // A semaphore of another number stands before us.
  std::optional<std::uint32_t> other_permits;

  // If it is not granted:
  std::string holder;    // the first of all
  std::size_t rank = 0;  // how many wait before us
  // Whom to watch. Empty: the whole list, as the first of those who wait for a permit must, for
  // any of the holders can be the next to leave. A few do, so that permits which come back together
  // are taken together; those behind them watch the one as many places before them.
  std::string watch;
  bool end_grants = false;      // the end of that node, however it comes
  bool release_grants = false;  // the news that it was written to
  // It waits itself, and when it gets in it says so.
  bool look_if_held = false;
};

// The one just before a claim.
struct Predecessor {
  ClaimNode node;
  bool alone = false;  // nothing is before it
};

// Decides for an exclusive claim whose predecessor is known.
inline Decision decide_behind(const Predecessor& predecessor) {
  const auto& [before, alone] = predecessor;
  Decision decision;
  decision.present = true;
  decision.watch = before.name;
  const bool ours = before.claim.has_value();
  const bool can_move = ours && !before.kept;
  decision.end_grants = alone && !can_move;
  decision.release_grants =
      ours && (before.mode == Mode::exclusive || (before.mode == Mode::shared && alone));
  return decision;
}

// REQUIRES: `own` is the name of a claim's node.
inline Decision decide(const std::vector<std::string>& children, const std::string& own) {
  HOLDFAST_REQUIRE(!own.empty());
  Decision decision;
  const std::vector<ClaimNode> nodes = in_order(children);
  const auto at = std::find_if(nodes.begin(), nodes.end(),
                               [&](const ClaimNode& node) { return node.name == own; });
  if (at == nodes.end()) return decision;
  decision.present = true;
  decision.used_up = is_used_up(at->sequence);
  const auto index = static_cast<std::size_t>(at - nodes.begin());
  for (std::size_t i = 0; i < index; ++i) {
    if (nodes[i].claim && nodes[i].claim == at->claim) decision.elder = nodes[i].name;
    const bool other = at->mode == Mode::permit && nodes[i].mode == Mode::permit &&
                       nodes[i].permits != at->permits;
    if (other) decision.other_permits = nodes[i].permits;
  }
  decision.granted = holds(nodes, index);
  if (decision.granted) return decision;
  decision.holder = nodes.front().name;
  for (std::size_t i = 0; i < index; ++i) decision.rank += holds(nodes, i) ? 0 : 1;

  // The nearest before us that we cannot share with; how many there are, and what is in between.
  std::size_t barriers = 0;
  std::optional<std::size_t> nearest;
  for (std::size_t i = 0; i < index; ++i) {
    if (at->mode != Mode::exclusive && nodes[i].mode == at->mode) continue;
    ++barriers;
    nearest = i;
  }
  if (!nearest) {  // Permits only, and all are taken.
    const std::size_t few = std::min<std::size_t>(at->permits, 4);
    if (index >= at->permits + few) {
      decision.watch = nodes[index - few].name;
      decision.look_if_held = true;
    }
    return decision;
  }
  const ClaimNode& barrier = nodes[*nearest];
  decision.watch = barrier.name;
  // With permits there may be too many between the barrier and us.
  const bool room_behind = at->mode != Mode::permit || index - *nearest - 1 < at->permits;
  const bool room = at->mode != Mode::permit || index - 1 < at->permits;
  const bool ours = barrier.claim.has_value();
  const bool can_move = ours && !barrier.kept;
  decision.end_grants = barriers == 1 && room && !can_move;
  decision.release_grants = ours && ((barrier.mode == Mode::exclusive && room_behind) ||
                                     (barrier.mode == Mode::shared && barriers == 1 && room));
  return decision;
}

}  // namespace holdfast::internal::zookeeper
