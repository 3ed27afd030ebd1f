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

Result<Leader> leader_of(const Result<LockInfo>& info) {
  if (!info) return info.failure();
  return newest_holder(*info);
}

// These own what the engine's coroutines only refer to.
Task<Result<Leader>> look(internal::Locker& locker, Name name) {
  co_return leader_of(
      co_await internal::contained(locker.engine().inspect(name, locker.request_deadline())));
}
Task<Result<Leader>> watch(internal::Locker& locker, Name name, Token known, Wait wait) {
  co_return leader_of(co_await internal::contained(locker.engine().watch(name, known, wait)));
}

Failure moved_election() {
  return Failure(Code::closed, "this election, or its client, was moved from");
}

// Since this object was made, the server may have turned out to give less than is required.
template <class Answer, class Begin>
Answer refused_or(const Begin& begin) {
  try {
    return begin();
  } catch (const LockError& error) {
    return Answer(error.failure());
  }
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
  if (!locker_) return moved_election();
  return refused_or<Result<Lease>>([&] { return candidate(value).acquire(std::move(stop)); });
}

Result<Lease> Election::try_campaign_for(const std::string& value, Duration patience,
                                         std::stop_token stop) {
  if (!locker_) return moved_election();
  return refused_or<Result<Lease>>(
      [&] { return candidate(value).try_acquire_for(patience, std::move(stop)); });
}

Async<Result<Lease>> Election::async_campaign(const std::string& value, std::stop_token stop) {
  if (!locker_) return Async<Result<Lease>>(moved_election());
  return refused_or<Async<Result<Lease>>>(
      [&] { return candidate(value).async_acquire(std::move(stop)); });
}

Async<Result<Lease>> Election::async_try_campaign_for(const std::string& value, Duration patience,
                                                      std::stop_token stop) {
  if (!locker_) return Async<Result<Lease>>(moved_election());
  return refused_or<Async<Result<Lease>>>(
      [&] { return candidate(value).async_try_acquire_for(patience, std::move(stop)); });
}

Async<Result<Leader>> Election::async_leader() {
  if (!locker_) return Async<Result<Leader>>(moved_election());
  return {locker_->shared_loop(), look(*locker_, name_)};
}

Async<Result<Leader>> Election::async_observe(Token known, std::optional<Duration> patience,
                                              std::stop_token stop) {
  if (!locker_) return Async<Result<Leader>>(moved_election());
  Wait wait;
  if (patience) {
    const Duration limit = std::min(*patience, internal::kLongestPatience);
    wait.deadline = Deadline::at(locker_->runtime().now() + limit);
  }
  return internal::stoppable(
      locker_->shared_loop(), std::move(stop), [&](std::stop_token stop_watching) {
        return watch(*locker_, name_, known,
                     Wait{.deadline = wait.deadline, .stop = std::move(stop_watching)});
      });
}

Result<Leader> Election::leader() { return async_leader().get(); }

Result<Leader> Election::observe(Token known, std::optional<Duration> patience,
                                 std::stop_token stop) {
  return async_observe(known, patience, std::move(stop)).get();
}

}  // namespace holdfast
