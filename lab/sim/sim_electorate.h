// SimElectorate: the nodes of a simulated quorum as one client knows them, and how those that
// were restarted come back. The rules are those of docs/REDLOCK.md, and the steps those of
// src/engines/redlock/membership.h, without founding: the nodes begin open.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "lab/sim/sim_voter.h"

namespace holdfast::lab::sim {

class SimElectorate final : public internal::quorum::Electorate {
 public:
  SimElectorate(internal::SimRuntime& client, const std::vector<std::unique_ptr<QuorumNode>>& nodes,
                SimNetwork& network, VoterMarks& marks, VoteWatcher& watcher,
                const internal::quorum::QuorumOptions& options, Duration silence);

  void set_cut(bool cut);
  void set_cut_at(std::size_t node, bool cut) { voters_[node]->set_cut(cut); }

  const Guarantees& guarantees() const override { return guarantees_; }
  std::size_t size() const override { return voters_.size(); }
  internal::quorum::Voter& voter(std::size_t index) override { return *voters_[index]; }
  bool ready_to_vote() const override { return established_; }
  internal::quorum::Era era() const override { return era_; }
  std::uint64_t floor() const override { return floor_; }
  Task<Result<bool>> open(Duration ttl, Deadline deadline) override;
  void look_after() override;
  void stop() override { background_.stop(); }

 private:
  using Nodes = std::vector<std::size_t>;
  using What = std::function<void(QuorumNode&)>;
  using State = QuorumNode::Marker::State;
  struct Outlook;

  Task<void> tend(std::size_t node, What what, Deadline deadline, std::shared_ptr<Outlook> outlook);
  Task<Nodes> tend_all(Nodes nodes, What what, Deadline deadline);
  Task<bool> do_open(Deadline deadline);
  Task<void> open_in_background();
  Task<void> raise(Nodes nodes, Deadline deadline);
  Task<void> establish(Nodes nodes, Deadline deadline);
  Task<void> mark(const Nodes& nodes, Deadline deadline);
  Task<void> bring_back(Nodes seen, Nodes open, Deadline deadline);
  Task<void> join(std::size_t node, Nodes open, Deadline deadline);
  Task<void> refound(Nodes seen, Nodes open, Deadline deadline);
  Task<void> begin_refounding(Nodes closed, Nodes open, Deadline deadline);
  void pass_what_was_forgotten(const Nodes& nodes);
  Task<void> finish(std::size_t node, Nodes sources, Deadline deadline);
  bool stands_by(std::size_t other, const QuorumNode::Marker& joining) const;
  bool suffice(std::size_t others, const QuorumNode::Marker& joining) const;
  void hear_of(const QuorumNode::Marker& marker);
  bool in_motion() const;
  internal::quorum::Era new_epoch();
  Nodes in_state(const Nodes& nodes, State state) const;

  internal::SimRuntime& client_;
  internal::quorum::QuorumOptions options_;
  Duration silence_;
  Guarantees guarantees_;
  std::vector<std::unique_ptr<SimVoter>> voters_;
  internal::quorum::Era era_;
  bool established_ = false;
  std::uint64_t floor_ = 0;
  bool opening_ = false;
  Event opened_;
  BootTime looked_at_{};
  TaskGroup background_;  // Last: its tasks end before what they use.
};

// Of the nodes beside one: enough to meet every majority that this one was part of.
constexpr std::size_t majority_of_others(std::size_t nodes) { return (nodes - 1) / 2 + 1; }

}  // namespace holdfast::lab::sim
