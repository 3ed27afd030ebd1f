#include "lease/renewer.h"

#include <algorithm>

#include "lease/contained_renewal.h"

namespace holdfast::internal {

namespace {

// Renewals are moved up to this grid, so that many leases share a batch.
Duration grid_of(Duration ttl) { return std::max<Duration>(ttl / 120, Duration(1)); }

Duration retry_pause(Duration ttl) {
  return std::clamp<Duration>(ttl / 20, std::chrono::milliseconds(1), std::chrono::seconds(1));
}

}  // namespace

Renewer::Renewer(Runtime& runtime, Engine& engine, TaskGroup& tasks, Observer& observer,
                 Duration request_timeout, Watchdog* watchdog)
    : runtime_(runtime),
      engine_(engine),
      tasks_(tasks),
      observer_(observer),
      request_timeout_(request_timeout),
      watchdog_(watchdog),
      pace_(0.9 + 0.2 * runtime.uniform()) {
  engine_.hear_doubts(this);
}

Renewer::~Renewer() {
  engine_.hear_doubts(nullptr);
  runtime_.drop(*this);
}

void Renewer::add(LeaseRecord& record, const Grant& grant) {
  record.renewer_ = this;
  record.next_ = first_;
  if (first_) first_->previous_ = &record;
  first_ = &record;
  schedule(record, next_renewal(grant));
  if (!watchdog_) return;
  record.watchdog_ = watchdog_;
  watchdog_->watch(record, record.validity.lost_at());
}

void Renewer::forget(LeaseRecord& record) {
  if (!record.renewer_) return;
  record.renewer_ = nullptr;
  if (record.next_) record.next_->previous_ = record.previous_;
  if (record.previous_) record.previous_->next_ = record.next_;
  if (first_ == &record) first_ = record.next_;
  record.previous_ = record.next_ = nullptr;
}

void Renewer::remove(LeaseRecord& record) {
  forget(record);
  if (watchdog_) watchdog_->forget(record);
  runtime_.disarm(record);
  if (record.state_ == LeaseRecord::State::due) {
    std::erase_if(due_, [&](const auto& other) { return other.get() == &record; });
  }
  record.state_ = LeaseRecord::State::idle;
}

BootTime Renewer::next_renewal(const Grant& grant) {
  const double third = static_cast<double>((grant.ttl / 3).count()) * pace_;
  const BootTime wanted = grant.counted_from + Duration(static_cast<Duration::rep>(third));
  const Duration grid = grid_of(grant.ttl);
  return BootTime(wanted.time_since_epoch() / grid * grid);
}

void Renewer::schedule(LeaseRecord& record, BootTime renew_at) {
  record.state_ = LeaseRecord::State::resting;
  record.renew_at_ = record.auto_renew_ ? renew_at : BootTime::max();
  runtime_.arm(record, std::min(record.renew_at_, record.validity.lost_at()));
}

void Renewer::on_time(LeaseRecord& record) {
  const BootTime now = runtime_.now();
  if (!record.validity.held(now)) {
    declare_lost(record);
    return;
  }
  if (record.state_ == LeaseRecord::State::resting && now >= record.renew_at_) {
    make_due(record);
  }
  runtime_.arm(record, record.validity.lost_at());
}

void Renewer::make_due(LeaseRecord& record) {
  record.state_ = LeaseRecord::State::due;
  due_.push_back(record.shared_from_this());
  runtime_.defer(*this);
}

void Renewer::on_doubt(const ClaimId* claim) {
  for (LeaseRecord* record = first_; record; record = record->next_) {
    if (claim && record->hold.claim.id != *claim) continue;
    // An answer that is under way may be from before the doubt.
    record->doubted_ = true;
    if (record->state_ == LeaseRecord::State::resting) make_due(*record);
  }
}

void Renewer::run() {
  while (!due_.empty()) {
    const std::size_t first = due_.size() - std::min(due_.size(), kMaxBatch);
    Batch batch(std::make_move_iterator(due_.begin() + static_cast<std::ptrdiff_t>(first)),
                std::make_move_iterator(due_.end()));
    due_.resize(first);
    tasks_.spawn(renew(std::move(batch)));
  }
}

Task<void> Renewer::renew(Batch batch) {
  // Between being put into the batch and now, it may have been released, lost or renewed.
  std::erase_if(batch,
                [](const auto& record) { return record->state_ != LeaseRecord::State::due; });
  if (batch.empty()) co_return;
  std::vector<Hold> holds;
  holds.reserve(batch.size());
  // Each attempt gets a part of the time only: a lost reply must leave room for another.
  BootTime deadline = runtime_.now() + request_timeout_;
  for (const auto& record : batch) {
    holds.push_back(record->hold_at(runtime_.now()));
    record->state_ = LeaseRecord::State::renewing;
    record->doubted_ = false;
    deadline = std::min(
        {deadline, runtime_.now() + record->hold.claim.ttl / 6, record->validity.lost_at()});
  }
  const std::vector<Result<Grant>> outcomes =
      co_await contained_renewal(engine_, holds, Deadline::at(deadline));
  for (std::size_t i = 0; i < batch.size(); ++i) take(*batch[i], outcomes[i]);
}

void Renewer::take(LeaseRecord& record, const Result<Grant>& outcome) {
  using State = LeaseRecord::State;
  if (record.state_ == State::idle || record.state_ == State::ended) return;
  const BootTime now = runtime_.now();
  if (!outcome) {
    if (outcome.code() == Code::not_held) {
      declare_lost(record);
      return;
    }
    observer_.on_renewal_failed(record.hold, outcome.failure());
    if (!record.validity.held(now)) {
      declare_lost(record);
      return;
    }
    schedule(record, now + runtime_.jitter(retry_pause(record.hold.claim.ttl)));
    return;
  }
  const Validity validity = validity_of(*outcome, record.warn_before_);
  if (!record.validity.extend(validity, now)) {
    declare_lost(record);
    return;
  }
  observer_.on_renewed(record.hold, validity.valid_until);
  if (record.state_ == State::due) return;  // Renewed by hand; its own turn comes at once.
  schedule(record, next_renewal(*outcome));
  if (record.doubted_) make_due(record);
}

Task<Result<void>> Renewer::renew_now(std::shared_ptr<LeaseRecord> record) {
  using State = LeaseRecord::State;
  const auto gone = [&] {
    return Failure(Code::not_held, "the lock '" + record->hold.claim.name.display() +
                                       "' was lost; acquire it again");
  };
  if (record->state_ == State::idle || !record->validity.held(runtime_.now())) co_return gone();
  const Hold hold = record->hold_at(runtime_.now());
  const Deadline deadline = Deadline::at(record->validity.lost_at());
  const std::vector<Result<Grant>> outcomes =
      co_await contained_renewal(engine_, std::span(&hold, 1), deadline);
  const Result<Grant>& outcome = outcomes.front();
  take(*record, outcome);
  if (record->state_ == State::idle || !record->validity.held(runtime_.now())) co_return gone();
  if (!outcome) co_return outcome.failure();
  co_return Result<void>();
}

void Renewer::declare_lost(LeaseRecord& record) {
  forget(record);
  runtime_.disarm(record);
  if (record.state_ == LeaseRecord::State::due) {
    std::erase_if(due_, [&](const auto& other) { return other.get() == &record; });
  }
  record.state_ = LeaseRecord::State::ended;
  record.validity.lose();
  observer_.on_lost(record.hold, record.validity.valid_until());
  tell_of_loss(record);
}

void Renewer::tell_of_loss(LeaseRecord& record) {
  if (watchdog_) {
    watchdog_->expire(record);
  } else if (record.loss.fire()) {
    runtime_.call_user([keep = record.shared_from_this()] { keep->loss.deliver(); });
  }
}

}  // namespace holdfast::internal
