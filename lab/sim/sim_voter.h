// SimVoter: a node of a simulated quorum as one client reaches it: a link on which it asks, and one
// on which it hears. To the shipped quorum engine it is what a Redis server is to it in the field
// (src/engines/redlock/redis_voter.h).
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "engines/quorum/voter.h"
#include "lab/sim/sim_link.h"

namespace holdfast::lab::sim {

struct VoterMarks {
  LinkMarks links;
  std::uint64_t votes = 0;
  std::uint64_t second_rounds = 0;  // tokens proposed again
  std::uint64_t yields = 0;         // votes given back by one who stays in line
  std::uint64_t sent_twice = 0;     // the node did not know the script
  std::uint64_t closed = 0;
  std::uint64_t silent = 0;
};

// Hears of what is asked when it is sent, and when it is done.
class VoteWatcher {
 public:
  virtual ~VoteWatcher() = default;
  virtual void on_vote_sent(const Claim& claim) = 0;
  virtual void on_voted(const ClaimId& id, std::uint32_t attempt, std::size_t node,
                        const internal::quorum::Ballot& ballot) = 0;
  virtual void on_renewed(const ClaimId& id, std::size_t node,
                          internal::quorum::Standing::Kind kind) = 0;
  virtual void on_released(const ClaimId& id, std::size_t node, bool had_it) = 0;
};

class SimVoter final : public internal::quorum::Voter {
 public:
  SimVoter(internal::SimRuntime& client, QuorumNode& node, SimNetwork& network, VoterMarks& marks,
           VoteWatcher& watcher, Duration node_timeout);

  void set_cut(bool cut);

  std::string display() const override { return "node " + std::to_string(node_.number()); }
  bool responsive() override { return asking_.responsive(); }
  Task<Result<void>> ready(Deadline deadline) override { return asking_.open(deadline); }
  Task<internal::quorum::Ballot> vote(const Claim& claim,
                                      const internal::quorum::Proposal& proposal,
                                      Deadline deadline) override;
  Task<internal::quorum::Ballot> fence(const Claim& claim,
                                       const internal::quorum::Proposal& proposal,
                                       Deadline deadline) override;
  Task<std::vector<Result<internal::quorum::Standing>>> renew(std::vector<Hold> holds,
                                                              Deadline deadline) override;
  Task<Result<bool>> release(const Claim& claim, const Return& how, Deadline deadline) override;
  Task<Result<bool>> evict(const Name& name, Token token, Deadline deadline) override;
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override;
  Task<Result<std::vector<Name>>> names(const std::string& prefix, Deadline deadline) override;
  Task<Result<void>> listen(Deadline deadline, std::stop_token stop) override;
  bool listening() const override { return listening_ && hearing_.connected(); }
  std::unique_ptr<Waiter> enqueue(const Claim& claim, Event& told) override;
  Task<bool> watch(const Name& name, Deadline deadline) override;
  void stop() override;

  // ---- Its part in the electorate ---------------------------------------------------------------

  // As last seen.
  const QuorumNode::Marker& marker() const { return marker_; }
  bool marker_known() const { return marker_known_; }
  Duration silent_for() const { return silent_for_; }
  // The node's own clock, as last seen.
  std::uint64_t clock_us() const { return clock_us_; }
  // Does something about the marker, and looks at it. REQUIRES: ready.
  Task<Result<void>> tend(std::function<void(QuorumNode&)> what, Deadline deadline);
  Task<Result<std::uint64_t>> fence_of(Deadline deadline);
  Task<Result<bool>> adopt(std::uint64_t token, Deadline deadline);

 private:
  class Standing;
  template <class T>
  struct Reply {
    T value;
    BootTime sent_at;
  };
  template <class T>
  Task<Result<Reply<T>>> ask(QuorumNode::Script script, std::function<T(QuorumNode&)> question,
                             Deadline deadline);
  QuorumNode::Ask ask_of(const Claim& claim,
                         const internal::quorum::Ticket& ticket = std::nullopt) const;
  internal::quorum::Ballot ballot_of(const Result<Reply<QuorumNode::Voted>>& reply);

  internal::SimRuntime& client_;
  QuorumNode& node_;
  VoterMarks& marks_;
  VoteWatcher& watcher_;
  Duration node_timeout_;
  SimLink asking_;
  SimLink hearing_;
  std::uint64_t channel_;
  bool listening_ = false;
  std::unordered_map<ClaimId, Standing*> standing_;
  QuorumNode::Marker marker_;
  bool marker_known_ = false;
  Duration silent_for_{};
  std::uint64_t clock_us_ = 0;
};

}  // namespace holdfast::lab::sim
