// NodeSteps: the lives of nodes: empty restarts, restarts with older data, rejoining and refounding.
#ifndef HOLDFAST_TESTS_MODEL_NODE_STEPS_H_
#define HOLDFAST_TESTS_MODEL_NODE_STEPS_H_

#include <algorithm>
#include <array>
#include <bit>

#include "steps.h"

namespace holdfast::model {

class NodeSteps : private Steps {
 public:
  using Steps::Steps;

  void lives(int n) {
    const Node& before = node(n);
    if (state_.wipes < config_.wipes && before.marker != Marker::kBlank) wipe(n);
    if (state_.restarts < config_.restarts) restart(n);
    if (state_.restores < config_.restores) {
      if (config_.copies) copy(n);
      restore(n);
    }
    if (before.marker != Marker::kOpen && !before.refounds) rejoin(n);
    if (before.marker == Marker::kJoining && !before.refounds) complete(n);
    if (before.marker == Marker::kJoining && before.refounds) finish(n);
    if (before.marker != Marker::kOpen) return;
    for (int epoch = before.epoch + 1; epoch <= state_.newest; ++epoch) {
      State& next = add({.kind = Kind::kRaise, .node = n, .epoch = static_cast<Epoch>(epoch)});
      Node& after = next.nodes[at(n)];
      after.epoch = static_cast<Epoch>(epoch);
      after.floor = std::max(after.floor, state_.floors[at(epoch - 1)]);
      establish(next);
    }
  }

  // Too few are open for a rejoin. Some of the closed ones get a new epoch, which names the process
  // that each of them is: it is nobody's but theirs, and no vote was ever given in it.
  void refound() {
    const int epoch = state_.newest + 1;
    if (epoch > config_.sizes.epochs) return;
    int open = 0;
    unsigned closed = 0;
    for (int i = 0; i < config_.sizes.nodes; ++i) {
      if (node(i).marker == Marker::kOpen) ++open;
      if (may_refound(node(i))) closed |= 1U << i;
    }
    for (unsigned set = closed; set != 0; set = (set - 1) & closed) {
      if (open + std::popcount(set) >= config_.majority()) begin_refounding(set, epoch);
    }
  }

 private:
  // ---- Restarts ---------------------------------------------------------------------------------

  static Copy copy_of(const Node& node) {
    return {.marker = node.marker,
            .epoch = node.epoch,
            .word = node.word,
            .fence = node.fence,
            .fence_of = node.fence_of,
            .floor = node.floor,
            .remembers = node.remembers};
  }

  // One node's copy is enough for the restore that is to come; the others keep their first one.
  void copy(int n) {
    for (int i = 0; i < config_.sizes.nodes; ++i) {
      if (i != n && node(i).copy != Copy()) return;
    }
    if (node(n).copy == copy_of(node(n))) return;
    add({.kind = Kind::kCopy, .node = n}).nodes[at(n)].copy = copy_of(node(n));
  }

  // Clients see that it is another process. It has its marker, but that is the other's.
  void restart(int n) {
    const Marker marker = node(n).marker;
    if (marker != Marker::kOpen && marker != Marker::kJoining) return;
    if (marker == Marker::kOpen && rules_.restarted_votes) return;
    State& next = add({.kind = Kind::kRestart, .node = n});
    ++next.restarts;
    close(next, n);
  }

  void close(State& next, int n) const {
    Node& after = next.nodes[at(n)];
    if (node(n).marker == Marker::kJoining && !node(n).refounds) end_reading(next, node(n).rejoin);
    after.marker = Marker::kClosed;
    after.refounds = after.has_read = false;
    after.rejoin = 0;
  }

  void restore(int n) {
    const Copy& old = node(n).copy;
    State& next = add({.kind = Kind::kRestore, .node = n, .token = old.fence, .epoch = old.epoch});
    ++next.restores;
    close(next, n);
    Node& after = next.nodes[at(n)];
    after.epoch = old.epoch;
    after.word = old.word;
    after.fence = old.fence;
    after.fence_of = old.fence_of;
    after.floor = old.floor;
    after.remembers = old.remembers;
    after.tenure = 0;
    if (old.marker == Marker::kBlank) after.marker = Marker::kBlank;
    if (old.marker == Marker::kOpen && rules_.restarted_votes) after.marker = Marker::kOpen;
    const int slot = free_slot();
    if (old.marker == Marker::kJoining && !rules_.restart_ends_rejoin && slot >= 0) {
      after.marker = Marker::kJoining;
      after.rejoin = static_cast<std::uint8_t>(slot);
    }
    if (next.restores == config_.restores) {
      for (Node& each : next.nodes) each.copy = Copy();
    }
  }

  // ---- Refounding -------------------------------------------------------------------------------

  bool may_refound(const Node& node) const {
    if (node.marker == Marker::kOpen) return false;
    if (node.marker == Marker::kJoining && node.has_read) return false;  // it is as good as open
    return node.remembers || !rules_.refounds_with_memory;
  }

  void begin_refounding(unsigned set, int epoch) {
    const auto e = static_cast<Epoch>(epoch);
    State& next = add({.kind = Kind::kRefound, .epoch = e, .other = static_cast<int>(set)});
    next.newest = e;
    next.floors[at(epoch - 1)] = rules_.refounds_by_clock ? state_.top : Token{0};
    for (int i = 0; i < config_.sizes.nodes; ++i) {
      if ((set >> i & 1U) == 0) continue;
      close(next, i);
      Node& after = next.nodes[at(i)];
      after.marker = Marker::kJoining;
      after.refounds = true;
      after.epoch = e;
      after.floor = std::max(after.floor, next.floors[at(epoch - 1)]);
      forget_claim(after);
    }
  }

  // It may have accepted the same token for another since the copy was taken.
  void forget_claim(Node& after) const {
    if (!rules_.restored_claim_stays || after.fence == 0) after.fence_of = 0;
  }

  // Whether a node that refounds may count on what another one has: it refuses all older epochs.
  bool stands_by(const Node& other, const Node& refounding) const {
    if (other.marker == Marker::kOpen) {
      return other.epoch >= refounding.epoch &&
             other.floor >= state_.floors[at(refounding.epoch - 1)];
    }
    return other.marker == Marker::kJoining && other.refounds && other.epoch == refounding.epoch;
  }

  void finish(int n) {
    const Node& before = node(n);
    if (before.has_read) {
      State& next =
          add({.kind = Kind::kOpen, .node = n, .token = before.fence, .epoch = before.epoch});
      Node& after = next.nodes[at(n)];
      after.marker = Marker::kOpen;
      after.refounds = after.has_read = false;
      after.remembers = true;
      establish(next);
      return;
    }
    unsigned others = 0;
    for (int i = 0; i < config_.sizes.nodes; ++i) {
      if (i != n && stands_by(node(i), before)) others |= 1U << i;
    }
    // More than a majority can only know more.
    for (unsigned set = others;; set = (set - 1) & others) {
      if (std::popcount(set) + 1 == config_.majority()) adopt(n, set);
      if (set == 0) break;
    }
  }

  void adopt(int n, unsigned set) {
    State& next = add({.kind = Kind::kAdopt, .node = n, .other = static_cast<int>(set)});
    Node& after = next.nodes[at(n)];
    after.has_read = true;
    for (int i = 0; i < config_.sizes.nodes; ++i) {
      if ((set >> i & 1U) == 0) continue;
      after.floor = std::max(after.floor, node(i).floor);
      if (node(i).fence <= after.fence) continue;
      after.fence = node(i).fence;
      after.fence_of = 0;
    }
    out_.back().step.token = after.fence;
  }

  // ---- Rejoining --------------------------------------------------------------------------------

  void wipe(int n) {
    State& next = add({.kind = Kind::kWipe, .node = n});
    ++next.wipes;
    if (node(n).marker == Marker::kJoining && !node(n).refounds) end_reading(next, node(n).rejoin);
    Node& after = next.nodes[at(n)];
    after = Node{.marker = Marker::kBlank,
                 .epoch = 0,
                 .read_by = after.read_by,
                 .replies = after.replies,
                 .remembers = false,
                 .copy = after.copy};
  }

  // The node notes that it joins, before anything is asked of the others: whoever began before the
  // node's last life can no more complete. The epoch may be greater than it needs to be, because
  // the others are asked one by one. Another client may begin anew where one was left.
  void rejoin(int n) {
    const bool anew = node(n).marker == Marker::kJoining;
    const int slot = anew ? node(n).rejoin : free_slot();
    if (slot < 0) return;
    if (rules_.recovery != Recovery::kByEpoch) {
      if (!anew) become_joining(n, slot, 1);
      return;
    }
    const int least = rules_.rejoin_epoch_is_new ? least_epoch_of_majority(n) + 1 : 2;
    if (least == 1) return;  // too few of the others are open
    const int most = std::min<int>(state_.newest + 1, config_.sizes.epochs);
    for (int epoch = least; epoch <= most; ++epoch) {
      if (epoch != node(n).epoch) become_joining(n, slot, static_cast<Epoch>(epoch));
    }
  }

  int free_slot() const {
    unsigned used = 0;
    for (const Node& each : state_.nodes) {
      if (each.marker == Marker::kJoining && !each.refounds) used |= 1U << each.rejoin;
    }
    return std::countr_one(used) < 2 ? std::countr_one(used) : -1;
  }

  // Of the majorities of the others: the least of their greatest epochs. 0 if there is none.
  int least_epoch_of_majority(int n) const {
    std::array<int, kMaxNodes> epochs{};
    int open = 0;
    for (int i = 0; i < config_.sizes.nodes; ++i) {
      if (i != n && node(i).marker == Marker::kOpen) epochs[at(open++)] = node(i).epoch;
    }
    const int quorum = config_.rejoin_quorum();
    if (open < quorum) return 0;
    std::ranges::nth_element(epochs.begin(), epochs.begin() + quorum - 1, epochs.begin() + open);
    return epochs[at(quorum - 1)];
  }

  void become_joining(int n, int slot, Epoch epoch) {
    State& next = add({.kind = Kind::kRejoin, .node = n, .epoch = epoch});
    end_reading(next, slot);
    Node& after = next.nodes[at(n)];
    after.marker = Marker::kJoining;
    after.epoch = epoch;
    if (!after.remembers) after.fence = 0;
    forget_claim(after);
    after.rejoin = static_cast<std::uint8_t>(slot);
    next.newest = std::max(next.newest, epoch);
  }

  void complete(int n) {
    int read = 0;
    for (int i = 0; i < config_.sizes.nodes; ++i) {
      const bool done = (node(i).read_by & bit(node(n).rejoin)) != 0;
      if (done) ++read;
      if (i != n && !done) this->read(n, i);
    }
    if (read < config_.rejoin_quorum() && rules_.recovery != Recovery::kNone) return;
    State& next =
        add({.kind = Kind::kOpen, .node = n, .token = node(n).fence, .epoch = node(n).epoch});
    end_reading(next, node(n).rejoin);
    next.nodes[at(n)].marker = Marker::kOpen;
    next.nodes[at(n)].rejoin = 0;
    next.nodes[at(n)].remembers = true;
    establish(next);
  }

  void read(int n, int other) {
    const Node& source = node(other);
    if (source.marker != Marker::kOpen || rules_.recovery == Recovery::kNone) return;
    if (rules_.rejoin_bumps_others && source.epoch < node(n).epoch) return;
    State& next = add({.kind = Kind::kRead, .node = n, .token = source.fence, .other = other});
    next.nodes[at(other)].read_by |= bit(node(n).rejoin);
    Node& after = next.nodes[at(n)];
    after.floor = std::max(after.floor, source.floor);
    if (source.fence <= after.fence) return;
    after.fence = source.fence;
    after.fence_of = rules_.rejoin_copies_claim ? source.fence_of : Claim{0};
  }

  static void end_reading(State& state, int slot) {
    for (Node& each : state.nodes) each.read_by &= static_cast<std::uint8_t>(~bit(slot));
  }

  void establish(State& state) const {
    for (int epoch = 1; epoch <= state.newest; ++epoch) {
      int open = 0;
      for (int i = 0; i < config_.sizes.nodes; ++i) {
        const Node& each = state.nodes[at(i)];
        if (each.marker == Marker::kOpen && each.epoch >= epoch) ++open;
      }
      if (open >= config_.majority()) state.established |= bit(epoch - 1);
    }
  }
};

}  // namespace holdfast::model

#endif  // HOLDFAST_TESTS_MODEL_NODE_STEPS_H_
