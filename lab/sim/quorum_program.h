// QuorumProgram: one client of a simulated quorum, on the shipped engine, locker and renewer. It
// takes the lock, reads and writes the registers, gives it back, again and again.
#pragma once

#include <memory>
#include <optional>

#include "holdfast/observer.h"
#include "lab/sim/quorum_schedule.h"
#include "lab/sim/sim_client.h"
#include "lab/sim/sim_electorate.h"

namespace holdfast::lab::sim {

class QuorumStage;

class QuorumProgram final : public Observer {
 public:
  QuorumProgram(QuorumStage& stage, std::size_t number);
  ~QuorumProgram() override {
    if (client_) crash();
  }

  void start();
  void crash();
  void set_cut(bool cut) { electorate_->set_cut(cut); }
  void set_cut_at(std::size_t node, bool cut) { electorate_->set_cut_at(node, cut); }
  internal::SimRuntime& node() { return node_; }
  std::size_t number() const { return number_; }
  bool finished() const { return finished_; }
  bool has_lease() const { return lease_.has_value(); }
  // The claim that it believes to hold, if it is awake.
  const Claim* believes();

  void on_granted(const Hold& hold, BootTime valid_until) override;
  void on_refused(const Claim& claim, const Failure& failure) override;
  void on_renewed(const Hold& hold, BootTime valid_until) override;
  void on_renewal_failed(const Hold& hold, const Failure& failure) override;
  void on_lost(const Hold& hold, BootTime valid_until) override;

 private:
  Task<void> run();
  Task<bool> acquire();
  Task<void> critical_section();
  Task<void> give_back();
  bool look();  // held(), checked against everything that was seen before

  QuorumStage& stage_;
  std::size_t number_;
  internal::SimRuntime node_;
  SimElectorate* electorate_ = nullptr;
  std::unique_ptr<SimClient> client_;
  std::stop_source cancel_;
  std::optional<Lease> lease_;
  Claim claim_{.name = "lock"};
  bool saw_loss_ = false;
  bool settled_ = false;  // this round began when all had been well for long
  bool finished_ = false;
};

}  // namespace holdfast::lab::sim
