#include "holdfast/once.h"

#include <algorithm>

#include "base/failures.h"
#include "base/random.h"
#include "base/text.h"
#include "lease/lease_record.h"
#include "recipes/due.h"
#include "recipes/job_record.h"
#include "recipes/job_store.h"

namespace holdfast {

using internal::ClockReading;
using internal::JobStore;
using internal::Locker;
using internal::run_blocking;

// A run that was begun: the record as it is now, if nobody took over.
struct Once::Run {
  Job job;
  std::string stored;
  BootTime began;
};

const char* to_text(Job::State state) {
  switch (state) {
    case Job::State::running: return "running";
    case Job::State::done: return "done";
    case Job::State::failed: return "failed";
    case Job::State::lost: return "lost";
  }
  return "?";
}

const char* to_text(OnceResult::Outcome outcome) {
  using How = OnceResult::Outcome;
  switch (outcome) {
    case How::ran: return "ran";
    case How::failed: return "failed";
    case How::done_already: return "done_already";
    case How::busy: return "busy";
    case How::lost: return "lost";
    case How::unrecorded: return "unrecorded";
    case How::error: return "error";
  }
  return "?";
}

namespace {

// More often than this a record changes only if somebody keeps changing it without the lock.
constexpr int kMaxChanges = 20;

// A record and what it means at this moment.
struct Sight {
  std::optional<std::string> stored;
  ClockReading clock;
  Due due;
};

Task<Result<Sight>> see(Locker& locker, const Name& name, const Period& period, bool even_if_failed,
                        Deadline give_up, std::stop_token stop) {
  JobStore store(locker, name);
  Result<std::optional<std::string>> stored = co_await store.read(give_up, stop);
  if (!stored) co_return stored.failure();
  std::optional<Job> last;
  if (*stored) {
    Result<Job> job = internal::parse_job(name, **stored);
    if (!job) co_return job.failure();
    last = std::move(*job);
  }
  // After the record: who finds a run that is done must not find an earlier time than it.
  const Result<ClockReading> clock = co_await store.read_clock(give_up, stop);
  if (!clock) co_return clock.failure();
  Result<Due> due = internal::decide(name, period, last, clock->now, even_if_failed);
  if (!due) co_return due.failure();
  due->clock_difference = clock->difference;
  if (clock->difference) {
    if (auto note = internal::clock_note(*clock->difference, clock->uncertain)) {
      due->notes.push_back(std::move(*note));
    }
  }
  co_return Sight{std::move(*stored), *clock, std::move(*due)};
}

Failure lost_before_it_began(const Name& name) {
  return Failure(Code::not_held, "the lock '" + name.display() +
                                     "' was lost before the run could begin; nothing was run");
}

// Waits until the period begins. False: the caller does not want to.
Task<bool> wait_until_begun(Runtime& runtime, Duration begins_in, std::stop_token stop) {
  // A moment more, so that no rounding makes us too early once more.
  const BootTime then = runtime.now() + begins_in + std::chrono::milliseconds(1);
  co_return co_await sleep_until(runtime, then, std::move(stop)) != Woken::cancelled;
}

}  // namespace

Once::Once(std::shared_ptr<internal::Locker> locker, Name name, Period period, OnceOptions options)
    : locker_(std::move(locker)),
      name_(std::move(name)),
      period_(std::move(period)),
      options_(options) {
  const Guarantees& can = locker_->engine().guarantees();
  if (!can.records) {
    throw LockError(
        Failure(Code::unsupported,
                can.engine + " (" + can.recipe + ") keeps no record of what was done" +
                    (can.no_records_because.empty() ? "" : ": " + can.no_records_because) +
                    "; `holdfast engines` shows those that do"));
  }
  const Duration held = std::max(options_.lock.ttl, options_.lock.keep);
  if (held > period_.shortest()) {
    throw LockError(
        Failure(Code::invalid_argument,
                "the period (" + period_.text() +
                    ") is shorter than the time for which the lock can outlive a run (" +
                    duration_text(held) +
                    "): a run that died would block the next period; choose a ttl of " +
                    duration_text(period_.shortest() / 2) + " or less"));
  }
  LockRequest(locker_, Claim{.name = name_}, options_.lock);  // Refuses invalid options now.
}

Task<Result<Due>> Once::look_now(std::stop_token stop) {
  Result<Sight> sight = co_await see(*locker_, name_, period_, options_.even_if_failed,
                                     Deadline::at(locker_->runtime().now()), std::move(stop));
  if (!sight) co_return sight.failure();
  co_return std::move(sight->due);
}

Async<Result<Due>> Once::async_look(std::stop_token stop) {
  return internal::stoppable(locker_->shared_loop(), std::move(stop),
                             [this](std::stop_token own) { return look_now(std::move(own)); });
}

Result<Due> Once::look(std::stop_token stop) { return async_look(std::move(stop)).get(); }

// Empty: the record changed, or time has passed: look again.
Task<Result<std::optional<Due>>> Once::try_begin(const Lease& lease, std::stop_token stop) {
  Runtime& runtime = locker_->runtime();
  const Deadline give_up = Deadline::at(lease.valid_until());
  Result<Sight> sight =
      co_await see(*locker_, name_, period_, options_.even_if_failed, give_up, stop);
  if (!sight) co_return sight.failure();
  Due& due = sight->due;
  if (due.verdict == Due::Verdict::done) co_return std::optional(std::move(due));
  if (due.verdict == Due::Verdict::early) {
    const bool begun = co_await wait_until_begun(runtime, due.begins_in, stop);
    if (!begun) co_return internal::cancelled_by_caller();
    co_return std::optional<Due>();
  }
  // Another run is under way by the record, with a newer token: then this lock is ours no longer, or tokens began anew.
  if (due.last && due.last->state == Job::State::running && due.last->token >= lease.token()) {
    const Result<void> ours = co_await locker_->renew(lease.record_);
    if (!ours && !internal::may_pass(ours.code())) co_return lost_before_it_began(name_);
  }
  auto run = std::make_shared<Run>();
  run->began = sight->clock.read_at;
  run->job = internal::begin_job(due, period_, internal::draw_claim_id(runtime), lease.token(),
                                 lease.record_->hold.claim.label, sight->clock.now);
  run->stored = internal::format_job(run->job);
  JobStore store(*locker_, name_);
  const Result<bool> swapped = co_await store.swap(sight->stored, run->stored, give_up, stop);
  if (!swapped) co_return swapped.failure();
  if (!*swapped) co_return std::optional<Due>();
  if (!lease.held()) {
    // Nobody needs to be told of a run that never was. If it cannot be undone, the next one starts over.
    const Deadline soon = Deadline::at(runtime.now());
    static_cast<void>(co_await store.swap(run->stored, sight->stored, soon, stop));
    co_return lost_before_it_began(name_);
  }
  run_ = std::move(run);
  co_return std::optional(std::move(due));
}

Task<Result<Due>> Once::begin_under(const Lease& lease, std::stop_token stop) {
  for (int changes = 0; changes < kMaxChanges; ++changes) {
    Result<std::optional<Due>> begun = co_await try_begin(lease, stop);
    if (!begun) co_return begun.failure();
    if (*begun) co_return std::move(**begun);
    // Somebody else changed the record, or time has passed: is the lock still ours?
    const Result<void> ours = co_await locker_->renew(lease.record_);
    if (!lease.held() || (!ours && ours.code() == Code::not_held)) {
      co_return lost_before_it_began(name_);
    }
  }
  co_return Failure(Code::misconfigured,
                    "the record of '" + name_.display() +
                        "' is changed again and again by somebody without the lock");
}

Task<Result<Due>> Once::begin_now(const Lease& lease, std::stop_token stop) {
  run_.reset();
  Result<Due> begun = co_await begin_under(lease, std::move(stop));
  const bool runs = begun && begun->verdict == Due::Verdict::due;
  if (!runs) lease.record_->forgo_keep();  // It is about runs.
  co_return begun;
}

Async<Result<Due>> Once::async_begin(const Lease& lease, std::stop_token stop) {
  return internal::stoppable(locker_->shared_loop(), std::move(stop),
                             [&](std::stop_token own) { return begin_now(lease, std::move(own)); });
}

Result<Due> Once::begin(const Lease& lease, std::stop_token stop) {
  return async_begin(lease, std::move(stop)).get();
}

Async<Result<Job>> Once::async_end(int status, std::stop_token stop) {
  return conclude(status == 0 ? Job::State::done : Job::State::failed, status, std::move(stop));
}

Result<Job> Once::end(int status, std::stop_token stop) {
  return async_end(status, std::move(stop)).get();
}

Async<Result<Job>> Once::async_abandon(std::stop_token stop) {
  return conclude(Job::State::lost, {}, std::move(stop));
}

Result<Job> Once::abandon(std::stop_token stop) { return async_abandon(std::move(stop)).get(); }

Async<Result<Job>> Once::conclude(Job::State state, std::optional<int> status,
                                  std::stop_token stop) {
  if (!run_) {
    return Async<Result<Job>>(Failure(
        Code::invalid_argument, "no run of '" + name_.display() + "' was begun that could end"));
  }
  return internal::stoppable(locker_->shared_loop(), std::move(stop), [&](std::stop_token own) {
    return conclude_run(std::exchange(run_, nullptr), state, status, std::move(own));
  });
}

Task<Result<Job>> Once::conclude_run(std::shared_ptr<Run> run, Job::State state,
                                     std::optional<int> status, std::stop_token stop) {
  const BootTime now = locker_->runtime().now();
  Job job = run->job;
  job.state = state;
  job.status = status;
  // By the clock that began it, also if that was set anew meanwhile.
  job.ended = job.started + std::chrono::duration_cast<WallTime::duration>(now - run->began);
  // The record itself tells whether another run began: this is right also after the lock was lost.
  const Deadline give_up = Deadline::at(now + 2 * options_.lock.ttl);
  JobStore store(*locker_, name_);
  const Result<bool> swapped =
      co_await store.swap(run->stored, internal::format_job(job), give_up, stop);
  if (!swapped) co_return swapped.failure();
  if (*swapped) co_return job;
  const Result<std::optional<std::string>> stored =
      co_await store.read(Deadline::at(locker_->runtime().now()), stop);
  std::string by = "somebody (the record was removed)";
  if (!stored) by = "somebody";
  if (stored && *stored) {
    const Result<Job> other = internal::parse_job(name_, **stored);
    by = other ? other->label + " (token " + other->token.str() + ")" : "somebody";
  }
  co_return Failure(Code::not_held, "the run of '" + name_.display() + "' was taken over by " + by +
                                        ": its lock was lost, and its end was not recorded");
}

// ---- All of it ---------------------------------------------------------------------------------

Result<Due> Once::look_until_begun(std::stop_token stop) {
  for (;;) {
    Result<Due> due = look(stop);
    if (!due || due->verdict != Due::Verdict::early) return due;
    const auto rest = [&]() -> Task<Result<void>> {
      const bool begun = co_await wait_until_begun(locker_->runtime(), due->begins_in, stop);
      if (!begun) co_return internal::cancelled_by_caller();
      co_return Result<void>();
    };
    if (Result<void> rested = run_blocking(locker_->loop(), rest()); !rested) {
      return rested.failure();
    }
  }
}

Result<Lease> Once::acquire(std::optional<Duration> left, std::stop_token stop) {
  LockRequest request(locker_, Claim{.name = name_}, options_.lock);
  if (options_.wait) return request.try_acquire_for(*options_.wait, std::move(stop));
  if (!left) {  // The engine could not be asked: by this machine's clock.
    const WallTime now = locker_->runtime().wall();
    left = period_.span_at(now).end - now;
  }
  return request.try_acquire_for(*left, std::move(stop));
}

OnceResult Once::run_status(const std::function<int(const Lease&)>& function,
                            std::stop_token stop) {
  using How = OnceResult::Outcome;
  OnceResult result;
  const auto stopped = [&](const Failure& failure) {
    result.outcome = failure.code() == Code::busy ? How::busy : How::error;
    result.failure = failure;
    return result;
  };
  const auto nothing_to_do = [&](Due& due) {
    result.notes = std::move(due.notes);
    result.job = std::move(due.last);
    result.outcome = How::done_already;
    return result;
  };
  Result<Due> due = look_until_begun(stop);
  if (!due && !internal::may_pass(due.code())) return stopped(due.failure());
  if (due && due->verdict == Due::Verdict::done) return nothing_to_do(*due);
  Result<Lease> lease = acquire(due ? std::optional(due->left) : std::nullopt, stop);
  if (!lease) return stopped(lease.failure());
  due = begin(*lease, stop);
  if (!due) return stopped(due.failure());
  if (due->verdict == Due::Verdict::done) return nothing_to_do(*due);
  result.notes = std::move(due->notes);

  try {
    result.status = function(*lease);
  } catch (...) {
    static_cast<void>(end(1, stop));
    throw;
  }
  // Not cancelled by `stop`: what was done is to be recorded.
  Result<Job> ended = end(result.status);
  if (ended) {
    result.job = std::move(*ended);
    result.outcome = result.status == 0 ? How::ran : How::failed;
  } else {
    result.failure = ended.failure();
    result.outcome = ended.code() == Code::not_held ? How::lost : How::unrecorded;
  }
  if (Result<void> released = lease->release(); !released && ended) {
    result.notes.push_back(released.message());
  }
  return result;
}

}  // namespace holdfast
