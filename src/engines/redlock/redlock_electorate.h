// RedlockElectorate: N independent Redis masters that vote, and how a node that lost its data comes
// back among them. Inside the loop only.
//
// A node that restarts empty has forgotten whom it voted for and which tokens it accepted. If it
// voted on at once, two claims could have a majority, or one token two owners. So
//   1. it does not vote: its marker is gone, and every vote compares the marker. It is marked anew, so
//      that all that follows is known to have come after the loss;
//   2. a new epoch, which nobody ever used, is written to a majority of the *other* nodes: votes that
//      are still under way from before, and that the empty node may have been part of, then count
//      nowhere;
//   3. it stays silent for the longest ttl that anybody uses, so what it had voted for has ended;
//   4. it takes over the highest tokens of a majority of the others, and then votes again.
// Any client does the next step that is due; a step that is done twice does no harm. The order of
// these steps is what tests/model checks.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engines/quorum/voter.h"
#include "engines/redlock/redis_voter.h"
#include "holdfast/observer.h"

namespace holdfast::internal::redlock {

class RedlockElectorate final : public quorum::Electorate {
 public:
  RedlockElectorate(Runtime& runtime, const std::vector<redis::Settings>& nodes,
                    const quorum::QuorumOptions& options, std::shared_ptr<Observer> observer);

  const Guarantees& guarantees() const override { return guarantees_; }
  std::size_t size() const override { return voters_.size(); }
  quorum::Voter& voter(std::size_t index) override { return *voters_[index]; }
  bool ready_to_vote() const override { return established_; }
  quorum::Era era() const override { return era_; }
  std::string state() const override;
  std::optional<Failure> problem() const override { return problem_; }
  Task<Result<bool>> open(Duration ttl, Deadline deadline) override;
  void look_after() override;
  void stop() override { background_.stop(); }

 private:
  struct Outlook;

  void on_identity();
  void warn(const std::string& text);
  Task<void> tend(std::size_t node, redis::Script& script, std::vector<std::string> arguments,
                  Deadline deadline, std::shared_ptr<Outlook> outlook);
  // Runs a script at each of the nodes, at the same time; gives back those that answered.
  Task<std::vector<std::size_t>> tend_all(std::vector<std::size_t> nodes, redis::Script& script,
                                          std::vector<std::string> arguments, Deadline deadline);
  bool in_motion() const;
  Task<Result<bool>> do_open(Duration ttl, Deadline deadline);
  Task<void> open_in_background();
  Task<void> found(std::vector<std::size_t> nodes, std::int64_t longest_ms, Deadline deadline);
  Task<void> settle(std::vector<std::size_t> founding, quorum::Era epoch, std::int64_t longest_ms,
                    Deadline deadline);
  Task<void> bring_back(const std::vector<std::size_t>& seen, const std::vector<std::size_t>& blank,
                        const std::vector<std::size_t>& open, Deadline deadline);
  Task<void> join(std::size_t node, std::vector<std::size_t> open, Deadline deadline);
  Task<void> establish(std::vector<std::size_t> nodes, Deadline deadline);
  void hear_of(const Marker& marker);
  Task<void> raise(std::vector<std::size_t> nodes, std::int64_t longest_ms, Deadline deadline);
  Task<void> finish(std::size_t node, std::vector<std::size_t> open, Deadline deadline);
  quorum::Era new_epoch();
  std::uint64_t wall_ms() const;
  std::uint64_t nonce() { return runtime_.random() >> 11; }
  // Nodes whose last seen marker is in this state.
  std::vector<std::size_t> in_state(const std::vector<std::size_t>& nodes,
                                    Marker::State state) const;
  std::int64_t longest_ms(const std::vector<std::size_t>& nodes) const;

  Runtime& runtime_;
  quorum::QuorumOptions options_;
  std::shared_ptr<Observer> observer_;
  Guarantees guarantees_;
  Scripts scripts_;
  std::vector<std::unique_ptr<RedisVoter>> voters_;
  // The newest epoch that we know of. It is voted in when a majority has had it at one moment: else a
  // node could vote in an epoch that nobody else knows, lose its data, and come back to it.
  quorum::Era era_;
  bool established_ = false;
  std::optional<Failure> problem_;
  std::size_t amnesia_ = 0;  // how many nodes have lost their data, if those are too many
  bool warned_ = false;
  bool opening_ = false;
  Event opened_;
  BootTime looked_at_{};
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal::redlock
