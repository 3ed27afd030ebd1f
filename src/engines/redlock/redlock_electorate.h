// RedlockElectorate: N independent Redis masters that vote. Inside the loop only.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engines/quorum/voter.h"
#include "engines/redlock/membership.h"
#include "engines/redlock/redis_voter.h"
#include "holdfast/observer.h"

namespace holdfast::internal::redlock {

class RedlockElectorate final : public quorum::Electorate {
 public:
  // `usual_longest`: a longer ttl has to be announced to the nodes; at least so long is a node silent
  // that was restarted.
  RedlockElectorate(Runtime& runtime, const std::vector<redis::Settings>& nodes,
                    const quorum::QuorumOptions& options, Duration usual_longest,
                    std::shared_ptr<Observer> observer);

  const Guarantees& guarantees() const override { return guarantees_; }
  std::size_t size() const override { return voters_.size(); }
  quorum::Voter& voter(std::size_t index) override { return *voters_[index]; }
  bool ready_to_vote() const override { return membership_.established(); }
  quorum::Era era() const override { return membership_.era(); }
  std::uint64_t floor() const override { return membership_.floor(); }
  bool recovering() const override { return membership_.recovering(); }
  std::string state() const override { return membership_.state(); }
  std::optional<Failure> problem() const override { return problem_; }
  std::optional<Failure> refuses(const Claim& claim) const override;
  Task<Result<bool>> open(Duration ttl, Deadline deadline) override;
  void look_after() override;
  void stop() override;

 private:
  void on_identity();
  void warn(const std::string& text);
  Task<void> open_in_background();

  Runtime& runtime_;
  quorum::QuorumOptions options_;
  std::shared_ptr<Observer> observer_;
  std::string prefix_;
  Guarantees guarantees_;
  Scripts scripts_;
  Membership::Voters voters_;
  Membership membership_;
  std::optional<Failure> problem_;
  bool warned_ = false;
  bool opening_ = false;
  Event opened_;
  BootTime looked_at_{};
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal::redlock
