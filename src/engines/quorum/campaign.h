// Campaign: asks all nodes at once for their votes on a claim, and gives back what it got where
// that was not enough. Inside the loop only.
//
// The danger is a vote that arrives after the claim was given up: it would stand in
// the way of others for one ttl. So what is asked of one node goes over one connection, in order;
// a vote is not sent any more once its campaign is over; and an answer that comes too late is
// followed by a release. A release in turn must never end a *later* vote of the same claim: each
// attempt has a number, and a release checks whether it is still the last.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "engines/quorum/tally.h"
#include "engines/quorum/voter.h"

namespace holdfast::internal::quorum {

class Campaign {
 public:
  Campaign(Runtime& runtime, Electorate& electorate, const QuorumOptions& options);

  struct Outcome {
    std::optional<Grant> grant;
    std::optional<Failure> failure;  // cancelled, misconfigured, unreachable, unknown
    bool closed = false;             // too many nodes do not vote now
    bool split = false;              // busy, but nobody seems to have a majority
    bool foreign = false;
    Busy busy;
    std::uint32_t busy_at = 0;  // the nodes, as bits
  };
  // One attempt. Votes without a majority are on their way back when this returns; with a ticket
  // the claim then stands in the lines of the nodes.
  Task<Outcome> attempt(const Claim& claim, Ticket ticket, Deadline limit, std::stop_token stop);

  // Gives back all that the claim has or may have, and takes it out of the lines. True if a
  // majority had it, unknown if too many nodes did not answer; those are asked until the claim has
  // ended by itself.
  Task<Result<bool>> release(const Claim& claim, Deadline deadline);

  // Asks one more node to vote for a claim that is held; in the background.
  void add_vote(const Hold& hold, std::size_t node);
  // Whether any node was asked about it.
  bool knows(const ClaimId& id) const { return stakes_.contains(id); }
  // The claim is not ours to look after any more.
  void forget(const ClaimId& id) { stakes_.erase(id); }

  void stop() { background_.stop(); }

 private:
  // At which nodes a claim may have something.
  struct Stake {
    std::uint32_t words = 0;       // bits: the node's word may be the claim's
    std::uint32_t lines = 0;       // it may stand in the node's line
    std::uint32_t asked_back = 0;  // what was asked for last there was the word's return
    std::uint32_t attempt = 0;
    bool wanted = true;
  };
  struct Poll;
  struct Returning;

  std::size_t size() const { return electorate_.size(); }
  std::shared_ptr<Stake> stake_of(const ClaimId& id);
  std::uint64_t first_token(const Name& name) const;
  void remember_fence(const Name& name, std::uint64_t fence);

  void ask_all(const std::shared_ptr<Poll>& poll, Ticket ticket);
  Task<Verdict> count(const std::shared_ptr<Poll>& poll, Deadline limit, std::stop_token stop);
  // A token above the fences that were reported. `proposals`: how many tokens this attempt has proposed.
  std::uint64_t higher_token(const Poll& poll, int proposals);
  // Proposes another token to the nodes that have locked their word for this attempt.
  void propose_to_locked(const std::shared_ptr<Poll>& poll, std::uint64_t token);
  // Of a count that is lost: whether it is known why. If some nodes are busy and some are down, it
  // is for those to say who have not answered yet.
  bool explained(const Poll& poll) const;
  // Whether one of those that are waited for is.
  bool alive(const Tally& tally);
  Task<void> cast(std::shared_ptr<Poll> poll, std::size_t node, Proposal proposal);
  Task<void> cast_fence(std::shared_ptr<Poll> poll, std::size_t node, Proposal proposal);
  Task<void> cast_extra(std::shared_ptr<Stake> stake, Hold hold, std::size_t node);
  void give_back_all(const std::shared_ptr<Poll>& poll, Ticket ticket);
  Task<void> give_back(std::shared_ptr<Stake> stake, Claim claim, std::size_t node, Ticket ticket);
  Task<void> hand_in(std::shared_ptr<Returning> all, std::shared_ptr<Stake> stake,
                     std::size_t node);
  void settle(const ClaimId& id, const Stake& stake);
  Outcome outcome_of(Poll& poll, Verdict verdict, bool cancelled) const;

  Runtime& runtime_;
  Electorate& electorate_;
  QuorumOptions options_;
  std::unordered_map<ClaimId, std::shared_ptr<Stake>> stakes_;
  std::unordered_map<std::string, std::uint64_t> fences_;  // the highest seen, by name; bounded
  std::uint32_t attempts_ = 0;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal::quorum
