#include "base/passing_observer.h"
#include "base/require.h"
#include "holdfast/text.h"
#include "holdfast/trace.h"
#include "trace/spans.h"

namespace holdfast {

class Tracer::SpanObserver final : public internal::PassingObserver {
 public:
  SpanObserver(std::shared_ptr<Spans> spans, std::string_view engine,
               std::shared_ptr<Observer> next)
      : PassingObserver(std::move(next)), spans_(std::move(spans)), engine_(engine) {}

  void on_wait(const Claim& claim) override {
    spans_->wait(engine_, claim);
    PassingObserver::on_wait(claim);
  }
  void on_retry(const Claim& claim, const Failure& why) override {
    spans_->retry(claim, why);
    PassingObserver::on_retry(claim, why);
  }
  void on_granted(const Hold& hold, BootTime valid_until) override {
    spans_->grant(engine_, hold, valid_until);
    PassingObserver::on_granted(hold, valid_until);
  }
  void on_refused(const Claim& claim, const Failure& why) override {
    spans_->refuse(claim, why);
    PassingObserver::on_refused(claim, why);
  }
  void on_renewed(const Hold& hold, BootTime valid_until) override {
    spans_->renew(hold, valid_until);
    PassingObserver::on_renewed(hold, valid_until);
  }
  void on_renewal_failed(const Hold& hold, const Failure& why) override {
    spans_->fail_renewal(hold, why);
    PassingObserver::on_renewal_failed(hold, why);
  }
  void on_lost(const Hold& hold, BootTime valid_until) override {
    spans_->lose(hold);
    PassingObserver::on_lost(hold, valid_until);
  }
  void on_released(const Hold& hold, const Result<bool>& how) override {
    spans_->release(hold, how);
    PassingObserver::on_released(hold, how);
  }

 private:
  const std::shared_ptr<Spans> spans_;
  const std::string engine_;
};

Tracer::Tracer(TraceOptions options) {
  HOLDFAST_REQUIRE(options.sink != nullptr);
  spans_ = std::make_shared<Spans>(std::move(options));
}

Tracer::~Tracer() { spans_->close(); }

std::shared_ptr<Observer> Tracer::observer(std::string_view engine,
                                           std::shared_ptr<Observer> next) {
  return std::make_shared<SpanObserver>(spans_, engine, std::move(next));
}

std::string Tracer::traceparent() const { return spans_->traceparent(); }
void Tracer::end(const std::optional<std::string>& failure) { spans_->end_root(failure); }
void Tracer::flush() { spans_->flush(); }
std::uint64_t Tracer::dropped() const { return spans_->dropped(); }

bool is_traceparent(std::string_view text) {
  return internal::Traceparent::parse(text).has_value();
}

}  // namespace holdfast
