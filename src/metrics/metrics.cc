#include "holdfast/metrics.h"

#include <utility>

#include "metrics/counts.h"

namespace holdfast {

// One observer: tells the counts what it hears, and passes it on.
class Metrics::Counter final : public Observer {
 public:
  Counter(std::shared_ptr<Counts> counts, std::string_view engine, std::shared_ptr<Observer> next)
      : counts_(std::move(counts)), engine_(counts_->engine(engine)), next_(std::move(next)) {}

  void on_wait(const Claim& claim) override {
    counts_->wait(engine_, claim);
    if (next_) next_->on_wait(claim);
  }
  void on_retry(const Claim& claim, const Failure& why) override {
    counts_->retry(engine_, claim, why.code());
    if (next_) next_->on_retry(claim, why);
  }
  void on_granted(const Hold& hold, BootTime valid_until) override {
    counts_->grant(engine_, hold, valid_until);
    if (next_) next_->on_granted(hold, valid_until);
  }
  void on_refused(const Claim& claim, const Failure& why) override {
    counts_->refuse(engine_, claim, why.code());
    if (next_) next_->on_refused(claim, why);
  }
  void on_renewed(const Hold& hold, BootTime valid_until) override {
    counts_->renew(engine_, hold, valid_until);
    if (next_) next_->on_renewed(hold, valid_until);
  }
  void on_renewal_failed(const Hold& hold, const Failure& why) override {
    counts_->fail_renewal(engine_, hold, why.code());
    if (next_) next_->on_renewal_failed(hold, why);
  }
  void on_lost(const Hold& hold, BootTime valid_until) override {
    counts_->lose(engine_, hold);
    if (next_) next_->on_lost(hold, valid_until);
  }
  void on_released(const Hold& hold, const Result<bool>& how) override {
    counts_->release(engine_, hold, how);
    if (next_) next_->on_released(hold, how);
  }
  void on_server(const ServerEvent& event) override {
    counts_->hear(engine_, event);
    if (next_) next_->on_server(event);
  }
  void on_warning(const std::string& text) override {
    counts_->warn(engine_);
    if (next_) next_->on_warning(text);
  }

 private:
  const std::shared_ptr<Counts> counts_;
  Counts::EngineCounts& engine_;
  const std::shared_ptr<Observer> next_;
};

Metrics::Metrics(MetricsOptions options) : counts_(std::make_shared<Counts>(std::move(options))) {}

Metrics::~Metrics() = default;

std::shared_ptr<Observer> Metrics::observer(std::string_view engine,
                                            std::shared_ptr<Observer> next) {
  return std::make_shared<Counter>(counts_, engine, std::move(next));
}

std::string Metrics::text() const { return internal::exposition(counts_->snapshot()); }

}  // namespace holdfast
