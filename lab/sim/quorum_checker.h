// QuorumChecker: what must hold of a lock on a quorum, whatever happens: the statements of
// docs/REDLOCK.md about tokens, and a register that a full fence protects. Beside it the same
// register without one, to see that the faults are harmful.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lab/sim/outcome.h"
#include "lab/sim/registers.h"
#include "lab/sim/sim_voter.h"

namespace holdfast::lab::sim {

struct CheckerMarks {
  std::uint64_t grants = 0;
  std::uint64_t split_votes = 0;
  std::uint64_t late_votes = 0;   // arrived when the claim had been given up
  std::uint64_t slow_grants = 0;  // of a lower token, counted after a higher one
  std::uint64_t refused_by_fence = 0;
};

class QuorumChecker final : public VoteWatcher {
 public:
  using Find = std::function<void(Finding, const std::string&)>;
  using Tell = std::function<void(const std::string&)>;
  QuorumChecker(const std::vector<std::unique_ptr<QuorumNode>>& nodes, CheckerMarks& marks,
                Find find, Tell note)
      : registers(Fencing::reads_and_writes, marks.refused_by_fence, find),
        nodes_(nodes),
        marks_(marks),
        find_(std::move(find)),
        note_(std::move(note)) {}

  // VoteWatcher
  void on_vote_sent(const Claim& claim) override;
  void on_voted(const ClaimId& id, std::uint32_t attempt, std::size_t node,
                const internal::quorum::Ballot& ballot) override;
  void on_renewed(const ClaimId& id, std::size_t node,
                  internal::quorum::Standing::Kind kind) override;
  void on_released(const ClaimId& id, std::size_t node, bool had_it) override;

  // A node has accepted a token: the worst moment to lose its data.
  std::function<void(QuorumNode&)> on_accepted;

  // The client has begun to release the claim, or its attempt is over.
  void on_ended(const ClaimId& id) { ended_.insert(id); }
  // As the engine counted it, whether or not it is too old for a lease.
  void on_granted(const Claim& claim, Token token);
  // At how many nodes the word is the claim's.
  std::size_t words_of(const ClaimId& id) const;
  // The highest fence that a node had when it locked for the claim.
  std::uint64_t highest_fence_of(const ClaimId& id) const;

  Registers registers;

 private:
  void check_overtaking(const Claim& claim, Token token);
  bool votes_are_split() const;

  const std::vector<std::unique_ptr<QuorumNode>>& nodes_;
  CheckerMarks& marks_;
  Find find_;
  Tell note_;  // null: nobody reads the history
  std::uint64_t highest_ = 0;
  std::map<ClaimId, std::uint64_t> floors_;  // the highest token when its first vote was sent
  std::map<ClaimId, std::uint64_t> fences_;
  std::set<std::uint64_t> tokens_;
  std::set<ClaimId> ended_;
};

}  // namespace holdfast::lab::sim
