#include "serve/tap.h"

#include <boost/asio/post.hpp>

#include "duration.h"

namespace holdfast::cli::serve {
namespace {

class Tap final : public Observer {
 public:
  Tap(net::io_context& context, History& history, std::string engine)
      : context_(context), history_(history), engine_(std::move(engine)) {}

  void on_granted(const Hold& hold, BootTime) override {
    HistoryEvent event = of("granted", hold.claim);
    event.token = hold.token;
    event.waited_for_ms = waited_ms(hold.claim);
    tell(std::move(event));
  }
  void on_refused(const Claim& claim, const Failure& why) override {
    HistoryEvent event = of("refused", claim);
    event.waited_for_ms = waited_ms(claim);
    event.reason = code_name(why.code());
    tell(std::move(event));
  }
  void on_lost(const Hold& hold, BootTime) override { tell(ended("lost", hold)); }
  void on_released(const Hold& hold, const Result<bool>& how) override {
    if (how && *how) tell(ended("released", hold));
  }

 private:
  HistoryEvent of(const char* kind, const Claim& claim) const {
    return {.at_ms = wall_ms(),
            .engine = engine_,
            .name = claim.name,
            .kind = kind,
            .mode = claim.mode,
            .label = claim.label,
            .owner = claim.owner,
            .exact = true};
  }
  HistoryEvent ended(const char* kind, const Hold& hold) const {
    HistoryEvent event = of(kind, hold.claim);
    event.token = hold.token;
    return event;
  }
  static std::optional<long long> waited_ms(const Claim& claim) {
    if (claim.since == BootTime()) return std::nullopt;
    return to_ms(BootClock::now() - claim.since);
  }
  void tell(HistoryEvent event) {
    net::post(context_,
              [this, event = std::move(event)]() mutable { history_.add(std::move(event)); });
  }

  net::io_context& context_;
  History& history_;
  const std::string engine_;
};

}  // namespace

std::shared_ptr<Observer> make_tap(net::io_context& context, History& history, std::string engine) {
  return std::make_shared<Tap>(context, history, std::move(engine));
}

}  // namespace holdfast::cli::serve
