// BriefVoter: a node of a simulated quorum, reached by the shortest way: no connecting, no line, no
// rejoining. For schedules of which there are to be very many.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engines/quorum/voter.h"
#include "lab/sim/quorum_node.h"
#include "lab/sim/sim_network.h"

namespace holdfast::lab::sim {

// Hears what nodes answered when they were asked to vote.
using BriefWatch = std::function<void(const ClaimId&, const internal::quorum::Ballot&)>;

class BriefVoter final : public internal::quorum::Voter {
 public:
  BriefVoter(internal::SimRuntime& client, QuorumNode& node, SimNetwork& network,
             const BriefWatch& watch)
      : client_(client),
        node_(node),
        network_(network),
        watch_(watch),
        self_(std::make_shared<BriefVoter*>(this)) {}
  ~BriefVoter() override { *self_ = nullptr; }

  // A client that is cut off loses all that it sends.
  void set_cut(bool cut) { cut_ = cut; }

  std::string display() const override { return "node"; }
  bool responsive() override { return true; }
  Task<Result<void>> ready(Deadline) override { co_return Result<void>(); }
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
  Task<Result<void>> listen(Deadline, std::stop_token) override { co_return Result<void>(); }
  bool listening() const override { return true; }
  std::unique_ptr<Waiter> enqueue(const Claim&, Event&) override { return nullptr; }
  Task<bool> watch(const Name&, Deadline) override { co_return false; }
  void stop() override {}

 private:
  // A question that waits for its answer.
  struct Call {
    Call(BriefVoter& of, std::uint64_t its_number)
        : voter(of), number(its_number), done(of.client_) {
      voter.calls_.push_back(this);
    }
    ~Call() { std::erase(voter.calls_, this); }
    BriefVoter& voter;
    std::uint64_t number;
    Event done;
    void* answer = nullptr;  // where to put it
  };
  // The answer, and when the question left; nothing if none came.
  template <class T>
  struct Reply {
    std::optional<T> value;
    BootTime sent_at;
  };
  template <class T, class Question>
  Task<Reply<T>> ask(Question question, Deadline deadline);
  template <class T>
  void take(std::uint64_t number, T value);
  // When a message would arrive: on one connection in order. After a loss there is another one.
  std::optional<BootTime> arrival(const internal::SimRuntime& to, BootTime& last);
  template <class Question>
  Task<internal::quorum::Ballot> ballot(Question question, Deadline deadline);

  internal::SimRuntime& client_;
  QuorumNode& node_;
  SimNetwork& network_;
  const BriefWatch& watch_;
  bool cut_ = false;
  BootTime last_there_{};
  BootTime last_back_{};
  std::uint64_t next_number_ = 1;
  std::vector<Call*> calls_;
  std::shared_ptr<BriefVoter*> self_;
};

class BriefElectorate final : public internal::quorum::Electorate {
 public:
  BriefElectorate(internal::SimRuntime& client,
                  const std::vector<std::unique_ptr<QuorumNode>>& nodes, SimNetwork& network,
                  const BriefWatch& watch) {
    voters_.reserve(nodes.size());
    for (const auto& node : nodes) {
      voters_.push_back(std::make_unique<BriefVoter>(client, *node, network, watch));
    }
  }
  void set_cut(std::size_t node, bool cut) { voters_[node]->set_cut(cut); }

  const Guarantees& guarantees() const override;
  std::size_t size() const override { return voters_.size(); }
  internal::quorum::Voter& voter(std::size_t index) override { return *voters_[index]; }
  internal::quorum::Era era() const override { return {1, 1}; }
  Task<Result<bool>> open(Duration, Deadline) override { co_return false; }

 private:
  std::vector<std::unique_ptr<BriefVoter>> voters_;
};

}  // namespace holdfast::lab::sim
