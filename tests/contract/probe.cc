#include "probe.h"

#include <utility>

#include "base/url.h"
#include "engines/registry.h"

namespace holdfast::contract {

namespace {

Failure no_answer() { return Failure(Code::unknown, "the reply was lost (by the test)"); }

bool count_down(int& counter) {
  if (counter <= 0) return false;
  --counter;
  return true;
}

}  // namespace

LossyEngine::LossyEngine(Runtime& runtime, std::unique_ptr<Engine> inner)
    : Engine(runtime), inner_(std::move(inner)), stragglers_(runtime) {}

Task<Result<Grant>> LossyEngine::acquire(const Claim& claim, const Wait& wait) {
  ++acquires;
  if (delay_next_acquire) {
    stragglers_.spawn(acquire_later(claim, *std::exchange(delay_next_acquire, std::nullopt)));
    co_return no_answer();
  }
  Result<Grant> grant = co_await inner_->acquire(claim, wait);
  if (count_down(lose_acquire_replies)) co_return no_answer();
  co_return grant;
}

Task<void> LossyEngine::acquire_later(Claim claim, Duration delay) {
  co_await sleep_until(runtime(), runtime().now() + delay);
  const Wait no_wait{.deadline = Deadline::at(runtime().now() + std::chrono::seconds(5)),
                     .queue = false,
                     .stop = {}};
  static_cast<void>(co_await inner_->acquire(claim, no_wait));
}

Task<std::vector<Result<Grant>>> LossyEngine::renew(std::span<const Hold> holds,
                                                    Deadline deadline) {
  ++renewals;
  std::vector<Result<Grant>> outcomes = co_await inner_->renew(holds, deadline);
  if (count_down(lose_renew_replies)) {
    for (Result<Grant>& outcome : outcomes) outcome = no_answer();
  }
  co_return outcomes;
}

Task<Result<bool>> LossyEngine::release(const Claim& claim, Deadline deadline) {
  ++releases;
  if (count_down(lose_releases)) co_return no_answer();
  Result<bool> released = co_await inner_->release(claim, deadline);
  if (count_down(lose_release_replies)) co_return no_answer();
  co_return released;
}

Task<Result<void>> LossyEngine::detach(const Hold& hold, Deadline deadline) {
  return inner_->detach(hold, deadline);
}
Task<Result<std::vector<LockInfo>>> LossyEngine::list(const std::string& prefix,
                                                      Deadline deadline) {
  return inner_->list(prefix, deadline);
}
Task<Result<LockInfo>> LossyEngine::inspect(const Name& name, Deadline deadline) {
  return inner_->inspect(name, deadline);
}
Task<Result<void>> LossyEngine::evict(const Name& name, Token token, Deadline deadline) {
  return inner_->evict(name, token, deadline);
}
Task<Result<std::optional<std::string>>> LossyEngine::read_record(const Name& name,
                                                                  Deadline deadline) {
  return inner_->read_record(name, deadline);
}
Task<Result<bool>> LossyEngine::swap_record(const Name& name, std::optional<std::string> expected,
                                            std::optional<std::string> value, Deadline deadline) {
  Result<bool> swapped =
      co_await inner_->swap_record(name, std::move(expected), std::move(value), deadline);
  if (count_down(lose_swap_replies)) co_return no_answer();
  co_return swapped;
}
Task<Result<std::vector<Record>>> LossyEngine::list_records(const std::string& prefix,
                                                            Deadline deadline) {
  return inner_->list_records(prefix, deadline);
}
Task<Result<std::optional<WallTime>>> LossyEngine::server_time(Deadline deadline) {
  return inner_->server_time(deadline);
}
Task<void> LossyEngine::close() { return inner_->close(); }

Probe::Probe(const std::string& url, ClientOptions options) {
  const internal::Url parsed = internal::Url::parse(url).value();
  const auto factory = [&](Runtime& its_runtime) -> Result<std::unique_ptr<Engine>> {
    Result<std::unique_ptr<Engine>> inner = internal::open_engine(parsed, its_runtime, options);
    if (!inner) return inner.failure();
    auto lossy = std::make_unique<LossyEngine>(its_runtime, std::move(inner).value());
    runtime = &its_runtime;
    engine = lossy.get();
    return std::unique_ptr<Engine>(std::move(lossy));
  };
  client.emplace(Client::over(factory, options).value());
}

}  // namespace holdfast::contract
