// StoreProgram: one client of a simulated server, on the shipped locker and renewer. It takes the
// lock, reads and writes the registers, gives it back, again and again.
#pragma once

#include <memory>
#include <optional>

#include "holdfast/observer.h"
#include "lab/sim/sim_client.h"

namespace holdfast::lab::sim {

class StoreStage;

class StoreProgram final : public Observer {
 public:
  StoreProgram(StoreStage& stage, std::size_t number);
  ~StoreProgram() override {
    if (client_) crash();
  }

  void start();
  void crash();
  void set_connected(bool sends, bool hears) { plug_(sends, hears); }
  internal::SimRuntime& node() { return node_; }
  std::size_t number() const { return number_; }
  // Whether it is awake and believes that it holds the lock.
  bool believes() { return lease_ && !node_.paused() && lease_->held(); }
  bool has_lease() const { return lease_.has_value(); }
  bool finished() const { return finished_; }

  void on_wait(const Claim& claim) override;
  void on_granted(const Hold& hold, BootTime valid_until) override;
  void on_refused(const Claim& claim, const Failure& failure) override;
  void on_renewed(const Hold& hold, BootTime valid_until) override;
  void on_renewal_failed(const Hold& hold, const Failure& failure) override;
  void on_lost(const Hold& hold, BootTime valid_until) override;

 private:
  Task<void> run();
  Task<bool> acquire();
  Task<void> critical_section();
  Task<void> update();
  Task<void> give_back();
  bool look();  // held(), checked against everything that was seen before
  std::unique_ptr<Engine> make_engine();
  std::string label() const { return "client " + std::to_string(number_); }

  StoreStage& stage_;
  std::size_t number_;
  internal::SimRuntime node_;
  std::function<void(bool, bool)> plug_;
  std::unique_ptr<SimClient> client_;
  std::stop_source cancel_;
  std::optional<Lease> lease_;
  std::uint64_t starts_ = 0;
  std::uint64_t token_floor_ = 0;  // the highest granted when this claim began
  bool saw_loss_ = false;
  bool finished_ = false;
};

}  // namespace holdfast::lab::sim
