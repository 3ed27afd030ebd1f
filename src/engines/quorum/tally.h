// Tally: the votes for one claim, and what they come to. Pure: no time, no input or output, so the
// decision on which everything rests can be read, tested and explored by itself.
//
// A token is granted by a majority of nodes each of which, at one moment, had its word set to the
// claim and accepted the token. See docs/REDLOCK.md for why that makes tokens unique and ordered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engines/quorum/ballot.h"

namespace holdfast::internal::quorum {

constexpr std::size_t majority_of(std::size_t nodes) { return nodes / 2 + 1; }

enum class Verdict {
  open,     // wait for more answers
  granted,  // a majority has accepted the token
  low,      // a majority is locked, but the token was too low: propose another
  lost,     // no majority can come about any more
};

class Tally {
 public:
  explicit Tally(std::size_t nodes) : votes_(nodes) {}

  // A node is being asked for its vote, or (locked already) to accept another token.
  void ask(std::size_t node, std::uint64_t token);
  // Its answer, also when nobody waits for it any more. One to an earlier question than the last is
  // of no use and is left out.
  void answer(std::size_t node, std::uint64_t token, const Ballot& ballot);
  // Nobody waits for the nodes any more that have not answered.
  void stop_waiting();

  // About `token`, the newest that was proposed.
  Verdict decide(std::uint64_t token) const;

  std::size_t nodes() const { return votes_.size(); }
  std::size_t majority() const { return majority_of(votes_.size()); }
  std::size_t locked() const;
  std::size_t pending() const;
  // How many have not answered, whether they are waited for or not.
  std::size_t unanswered() const;
  // How many locked nodes would accept this token.
  std::size_t accepting(std::uint64_t token) const;
  bool is_locked(std::size_t node) const { return votes_[node].locked; }
  bool is_pending(std::size_t node) const { return votes_[node].pending; }

  // REQUIRES: granted. The moment from which a majority has surely locked it: the majority-th
  // newest of the moments at which the votes were asked for.
  BootTime counted_from(std::uint64_t token) const;

  // The token to propose next: one that the claim has already, if a majority would have it; else the
  // one that most locked nodes would accept: above all that were accepted so far, and at least
  // `wish`, if that costs no vote. Never below `least`: nobody votes for less.
  std::uint64_t next_token(std::uint64_t wish, std::uint64_t least = 1) const;
  // The highest token that any node has told of.
  std::uint64_t highest_fence() const;

 private:
  struct Vote {
    bool pending = false;  // it is waited for
    bool open = false;     // it has not answered
    bool locked = false;
    std::uint64_t asked = 0;     // the token of the last question
    std::uint64_t accepted = 0;  // the token that it accepted last
    std::uint64_t fence = 0;
    bool own = false;  // the fence is the claim's
    std::uint64_t most = 0;
    BootTime sent_at{};  // of the vote that locked it
  };
  std::vector<Vote> votes_;
};

}  // namespace holdfast::internal::quorum
