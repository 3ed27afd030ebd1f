#include "holdfast/election.h"

#include <algorithm>

#include "lease/locker.h"

namespace holdfast {

namespace {

Leader newest_holder(const LockInfo& info) {
  Leader leader;
  for (const HolderInfo& holder : info.holders) {
    if (holder.token > leader.token) leader = Leader{holder.token, holder.label};
  }
  return leader;
}

// Owns what the engine's coroutine only refers to.
Task<Result<LockInfo>> watch(internal::Locker& locker, Name name, Token known, Wait wait) {
  co_return co_await locker.engine().watch(name, known, wait);
}

}  // namespace

Election::Election(std::shared_ptr<internal::Locker> locker, Name name, LockOptions options)
    : locker_(std::move(locker)), name_(std::move(name)), options_(options) {
  candidate({});  // Refuses invalid options now.
}

LockRequest Election::candidate(const std::string& value) {
  Claim claim{.name = name_, .label = value};
  return LockRequest(locker_, std::move(claim), options_);
}

Result<Lease> Election::campaign(const std::string& value, std::stop_token stop) {
  return candidate(value).acquire(std::move(stop));
}

Result<Lease> Election::try_campaign_for(const std::string& value, Duration patience,
                                         std::stop_token stop) {
  return candidate(value).try_acquire_for(patience, std::move(stop));
}

Result<Leader> Election::leader() {
  const Result<LockInfo> info = internal::run_blocking(
      locker_->loop(), locker_->engine().inspect(name_, locker_->request_deadline()));
  if (!info) return info.failure();
  return newest_holder(*info);
}

Result<Leader> Election::observe(Token known, std::optional<Duration> patience,
                                 std::stop_token stop) {
  Wait wait{.deadline = Deadline::never(), .queue = true, .stop = std::move(stop)};
  if (patience) wait.deadline = Deadline::at(locker_->runtime().now() + *patience);
  const Result<LockInfo> info =
      internal::run_blocking(locker_->loop(), watch(*locker_, name_, known, std::move(wait)));
  if (!info) return info.failure();
  return newest_holder(*info);
}

}  // namespace holdfast
