// PassingObserver: passes on all that it hears. What hears of some of it overrides that, and calls this in the end.
#pragma once

#include <memory>
#include <utility>

#include "holdfast/observer.h"

namespace holdfast::internal {

class PassingObserver : public Observer {
 public:
  explicit PassingObserver(std::shared_ptr<Observer> next) : next_(std::move(next)) {}

  void on_wait(const Claim& claim) override {
    if (next_) next_->on_wait(claim);
  }
  void on_retry(const Claim& claim, const Failure& why) override {
    if (next_) next_->on_retry(claim, why);
  }
  void on_granted(const Hold& hold, BootTime valid_until) override {
    if (next_) next_->on_granted(hold, valid_until);
  }
  void on_refused(const Claim& claim, const Failure& why) override {
    if (next_) next_->on_refused(claim, why);
  }
  void on_renewed(const Hold& hold, BootTime valid_until) override {
    if (next_) next_->on_renewed(hold, valid_until);
  }
  void on_renewal_failed(const Hold& hold, const Failure& why) override {
    if (next_) next_->on_renewal_failed(hold, why);
  }
  void on_lost(const Hold& hold, BootTime valid_until) override {
    if (next_) next_->on_lost(hold, valid_until);
  }
  void on_released(const Hold& hold, const Result<bool>& how) override {
    if (next_) next_->on_released(hold, how);
  }
  void on_server(const ServerEvent& event) override {
    if (next_) next_->on_server(event);
  }
  void on_warning(const std::string& text) override {
    if (next_) next_->on_warning(text);
  }

 private:
  const std::shared_ptr<Observer> next_;
};

}  // namespace holdfast::internal
