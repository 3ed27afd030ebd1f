#include "lease/locker.h"

#include <algorithm>

#include "base/failures.h"
#include "base/random.h"
#include "base/text.h"
#include "holdfast/examination.h"
#include "lease/contained_renewal.h"
#include "lease/owner_label.h"

namespace holdfast::internal {

namespace {

constexpr Duration kMaxTtl = std::chrono::hours(24 * 30);
// Less would not be before the end.
constexpr Duration kMinWarning = std::chrono::milliseconds(1);

Observer& silent_observer() {
  static Observer& silent = *new Observer;  // Never destroyed: clients may be global objects.
  return silent;
}

Failure invalid(std::string message) { return Failure(Code::invalid_argument, std::move(message)); }

Task<void> discard(Task<Result<void>> task) { static_cast<void>(co_await std::move(task)); }

}  // namespace

Locker::Locker(Runtime& runtime, Loop& loop, std::unique_ptr<Engine> engine, ClientOptions options,
               Watchdog* watchdog)
    : runtime_(runtime),
      loop_(loop),
      options_(std::move(options)),
      observer_(options_.observer ? *options_.observer : silent_observer()),
      watchdog_(watchdog),
      engine_(std::move(engine)),
      tasks_(runtime),
      renewer_(runtime, *engine_, tasks_, observer_, options_.request_timeout, watchdog) {}

Locker::~Locker() = default;

Result<void> Locker::check(const Claim& claim, const LockOptions& options) const {
  const Guarantees& can = engine_->guarantees();
  if (claim.ttl < can.min_ttl || claim.ttl > kMaxTtl) {
    return invalid("ttl must be between " + duration_text(can.min_ttl) + " and 30 days on " +
                   can.engine + ", not " + duration_text(claim.ttl));
  }
  if (options.warn_before &&
      (*options.warn_before < kMinWarning || *options.warn_before > claim.ttl / 2)) {
    return invalid("warn_before must be between 1 ms and half of the ttl, not " +
                   duration_text(*options.warn_before));
  }
  if (claim.permits == 0) return invalid("a semaphore needs at least one permit");
  if (auto problem = problem_with_owner(claim.owner)) return invalid(std::move(*problem));
  const auto unsupported = [&](const std::string& what, const std::string& why = {}) {
    return Failure(Code::unsupported, "the engine " + can.engine + " has no " + what +
                                          (why.empty() ? "" : ": " + why) +
                                          "; see `holdfast engines` for one that has");
  };
  if (claim.mode == Mode::shared && !can.shared_mode) return unsupported("shared mode");
  if (claim.mode == Mode::permit && !can.permit_mode) {
    return unsupported("semaphores", can.no_permits_because);
  }
  if (can.exclusion < options.require.exclusion) {
    return unsupported(std::string("exclusion of strength '") + to_text(options.require.exclusion) +
                           "' as required",
                       can.lowered_because);
  }
  if (can.token < options.require.token) {
    return unsupported(
        std::string("tokens of strength '") + to_text(options.require.token) + "' as required",
        can.lowered_because);
  }
  return {};
}

bool Locker::demands(const LockOptions& options) {
  return options.require.exclusion > Exclusion::best_effort ||
         options.require.token > TokenStrength::none;
}

Task<Result<void>> Locker::check_server(Claim claim, LockOptions options, Deadline deadline) {
  const Deadline limit = deadline.sooner(runtime_.now() + options_.request_timeout);
  const Result<Examination> found = co_await engine_->examine(limit);
  // Nobody answers: acquire() says so, or waits until somebody does, and the grant is checked after it.
  if (!found) co_return Result<void>();
  co_return check(claim, options);
}

// ---- Acquiring ---------------------------------------------------------------------------------

namespace {

constexpr Duration kShortestPause = std::chrono::milliseconds(5);
constexpr Duration kLongestPause = std::chrono::seconds(1);

}  // namespace

// Each attempt has an id of its own, all have the same `call`. With one id, a release of an earlier attempt
// that is still under way somewhere would end the hold of a later one, which would not know.
void Locker::start_over(Claim& claim) { claim.id = draw_claim_id(runtime_); }

// An id of the caller's own is kept: nothing that was sent for it is released, so that asking again is safe.
Task<Result<Grant>> Locker::ask(Claim& claim, const Wait& wait, bool own_id) {
  std::optional<Failure> outage;  // what kept us from asking
  std::string label = kept_label(claim.owner, claim.label);
  for (Duration pause = kShortestPause;; pause = std::min(pause * 2, kLongestPause)) {
    std::swap(claim.label,
              label);  // the engine's, and back: observers hear of the claim as it was made
    Result<Grant> grant = co_await contained(engine_->acquire(claim, wait));
    std::swap(claim.label, label);
    if (grant) co_return grant;
    if (grant.code() == Code::unknown && !own_id) tasks_.spawn(clean_up(claim));
    const BootTime now = runtime_.now();
    if (wait.queue && may_pass(grant.code()) && !wait.deadline.passed(now)) {
      observer_.on_retry(claim, grant.failure());
      outage = grant.failure();
      // Closer together towards the end: a server that comes back in time is not missed.
      if (!wait.deadline.is_never()) pause = std::min(pause, (wait.deadline.moment() - now) / 2);
      pause = std::max(pause, kShortestPause);
      const BootTime again = wait.deadline.sooner(now + runtime_.jitter(pause)).moment();
      const Woken woken = co_await sleep_until(runtime_, again, wait.stop);
      if (woken == Woken::cancelled) co_return cancelled_by_caller();
      if (wait.deadline.passed(runtime_.now())) co_return grant;
      if (!own_id) start_over(claim);
      continue;
    }
    if (!grant.failure().busy()) co_return grant;
    Busy busy = *grant.failure().busy();
    // The deadline passed before the holder was known: this says nothing new about the lock.
    if (outage && busy.holder.empty() && busy.token == 0) co_return *outage;
    busy.lock = claim.name.display();
    busy.holder = without_owner(std::move(busy.holder));
    co_return Failure::busy(std::move(busy));
  }
}

// A grant that was handed over is short until its first renewal. Where nobody renews in the background, that
// is now: a handle is worth its whole ttl, or it is not given.
Task<Result<Grant>> Locker::prolong(const Claim& claim, Grant grant, const Wait& wait) {
  const Hold hold{claim, grant.token};
  const BootTime ends = validity_of(grant, {}).valid_until;
  for (Duration pause = kShortestPause;; pause = std::min(pause * 2, kLongestPause)) {
    const Deadline deadline = request_deadline().sooner(ends);
    const std::vector<Result<Grant>> renewed =
        co_await contained_renewal(*engine_, std::span(&hold, 1), deadline);
    if (renewed.front() || renewed.front().code() == Code::not_held) co_return renewed.front();
    const BootTime again = runtime_.now() + runtime_.jitter(pause);
    if (again >= ends || wait.deadline.passed(again)) co_return renewed.front();
    if (co_await sleep_until(runtime_, again, wait.stop) == Woken::cancelled) {
      co_return cancelled_by_caller();
    }
  }
}

// A grant that can be believed, for the whole ttl if nobody renews it.
Task<Result<Grant>> Locker::obtain(Claim& claim, const Wait& wait, const LockOptions& options) {
  const bool own_id = options.claim.has_value();
  if (own_id) {
    claim.id = *options.claim;
  } else {
    start_over(claim);
  }
  claim.call = claim.id;
  claim.since = runtime_.now();
  observer_.on_wait(claim);
  for (Duration pause = kShortestPause;; pause = std::min(pause * 2, kLongestPause)) {
    Result<Grant> grant = co_await ask(claim, wait, own_id);
    if (!grant) co_return grant;
    if (grant->ttl < claim.ttl && !options.auto_renew) {
      grant = co_await prolong(claim, *grant, wait);
    }
    if (grant && runtime_.now() < validity_of(*grant, options.warn_before).lost_at) co_return grant;
    // We were paused, the reply was late, or a short grant was not renewed in time.
    if (!own_id) tasks_.spawn(clean_up(claim));
    if (wait.stop.stop_requested()) co_return cancelled_by_caller();
    const Failure late = Failure::busy(
        Busy{.lock = claim.name.display(), .holder = "nobody, but our own grant came too late"});
    if (!wait.queue || wait.deadline.passed(runtime_.now())) co_return late;
    observer_.on_retry(claim, late);
    // Where the way there and back takes longer than the ttl, that is so each time.
    const BootTime again = wait.deadline.sooner(runtime_.now() + runtime_.jitter(pause)).moment();
    const Woken woken = co_await sleep_until(runtime_, again, wait.stop);
    if (woken == Woken::cancelled) co_return cancelled_by_caller();
    if (wait.deadline.passed(runtime_.now())) co_return late;
    if (!own_id) start_over(claim);
  }
}

Task<Result<Lease>> Locker::acquire(Claim claim, LockOptions options, Wait wait) {
  if (Result<void> checked = check(claim, options); !checked) co_return checked.failure();
  // First of all: a lease whose loss nobody could tell is not handed out.
  if (Result<void> watched = start_watchdog(); !watched) co_return watched.failure();
  if (demands(options) && !engine_->guarantees().of_server) {
    const Result<void> server = co_await check_server(claim, options, wait.deadline);
    if (!server) co_return server.failure();
  }
  const Result<Grant> grant = co_await obtain(claim, wait, options);
  if (!grant) {
    observer_.on_refused(claim, grant.failure());
    co_return grant.failure();
  }
  // It may be another server by now: guarantees() are those of the one that granted it.
  if (demands(options)) {
    const Result<void> kept = check(claim, options);
    if (!kept) {
      tasks_.spawn(clean_up(claim));
      observer_.on_refused(claim, kept.failure());
      co_return kept.failure();
    }
  }
  Hold hold{std::move(claim), grant->token};
  co_return keep(std::move(hold), *grant, options)->make_lease();
}

std::shared_ptr<LeaseRecord> Locker::keep(Hold hold, const Grant& grant,
                                          const LockOptions& options) {
  const Validity validity = validity_of(grant, options.warn_before);
  observer_.on_granted(hold, validity.valid_until);
  auto record = std::make_shared<LeaseRecord>(self_.lock(), std::move(hold), options, validity,
                                              runtime_.now());
  renewer_.add(*record, grant);
  return record;
}

Task<void> Locker::clean_up(Claim claim) {
  // After one ttl nothing of it can be left, whenever it was executed... unless it is still under
  // way; then the engine ends it one ttl after it arrives.
  const BootTime gone_at = runtime_.now() + claim.ttl;
  for (Duration pause = std::chrono::milliseconds(10);;
       pause = std::min<Duration>(pause * 2, std::chrono::seconds(1))) {
    const Result<bool> released = co_await contained(engine_->release(claim, request_deadline()));
    if (released || runtime_.now() >= gone_at) co_return;
    const BootTime again = runtime_.now() + runtime_.jitter(pause);
    if (co_await sleep_until(runtime_, again, tasks_.stop_token()) == Woken::cancelled) co_return;
  }
}

// ---- Giving back -------------------------------------------------------------------------------

Task<Result<void>> Locker::release(std::shared_ptr<LeaseRecord> record) {
  renewer_.remove(*record);
  const bool held = record->validity.held(runtime_.now());
  const Deadline deadline = Deadline::at(runtime_.now() + options_.release_timeout);
  if (held && record->kept_until() > runtime_.now()) {
    co_return co_await leave_held(std::move(record), deadline);
  }
  // Also when it was lost: what is ours by id must not stay until its ttl ends.
  const Result<bool> ended = co_await contained(engine_->release(record->hold.claim, deadline));
  observer_.on_released(record->hold, ended);
  if (!ended) {
    tasks_.spawn(clean_up(record->hold.claim));  // Or it would stay until its ttl ends.
    co_return ended.failure();
  }
  if (held && *ended) co_return Result<void>();
  co_return Failure(Code::not_held, "the lock '" + record->hold.claim.name.display() +
                                        "' had been lost before it was released");
}

// Until the moment that was asked for, and no longer, if the engine allows. Where no answer comes, it ends by a ttl that
// is at least as long.
Task<Result<void>> Locker::leave_held(std::shared_ptr<LeaseRecord> record, Deadline deadline) {
  Hold hold = record->hold;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(record->kept_until() - runtime_.now());
  hold.claim.ttl = std::max<Duration>(left, engine_->guarantees().min_ttl);
  const std::vector<Result<Grant>> renewed =
      co_await contained_renewal(*engine_, std::span(&hold, 1), deadline);
  const Result<Grant>& shortened = renewed.front();
  if (!shortened && shortened.code() == Code::not_held) co_return shortened.failure();
  static_cast<void>(co_await contained(engine_->detach(hold, deadline)));
  observer_.on_released(hold, true);
  co_return Result<void>();
}

void Locker::release_in_background(std::shared_ptr<LeaseRecord> record) {
  tasks_.spawn(discard(release(std::move(record))));
}

// Shared with the releases, which may outlast the one who waits for them.
struct Locker::Releases {
  Releases(Runtime& runtime, std::size_t count) : left(count), done(runtime) {}
  std::size_t left;
  Result<void> outcome;
  Event done;
};

Task<void> Locker::release_one(std::shared_ptr<LeaseRecord> record,
                               std::shared_ptr<Releases> releases) {
  const Result<void> released = co_await release(std::move(record));
  if (!released && releases->outcome) releases->outcome = released;
  if (--releases->left == 0) releases->done.set();
}

Task<Result<void>> Locker::release_all(std::vector<std::shared_ptr<LeaseRecord>> records,
                                       Deadline deadline) {
  if (records.empty()) co_return Result<void>();
  const auto releases = std::make_shared<Releases>(runtime_, records.size());
  for (auto& record : records) tasks_.spawn(release_one(std::move(record), releases));
  if (co_await releases->done.wait(deadline) == Woken::signalled) co_return releases->outcome;
  co_return Failure(Code::unknown, std::to_string(releases->left) +
                                       " locks were not given back in time; they are released in "
                                       "the background, or end by their ttl");
}

// ---- Handles -----------------------------------------------------------------------------------

Task<Result<Handle>> Locker::acquire_detached(Claim claim, Wait wait) {
  const LockOptions options{.ttl = claim.ttl, .auto_renew = false};
  if (Result<void> checked = check(claim, options); !checked) co_return checked.failure();
  claim.outlives_process = true;
  const Result<Grant> grant = co_await obtain(claim, wait, options);
  if (!grant) {
    observer_.on_refused(claim, grant.failure());
    co_return grant.failure();
  }
  Hold hold{std::move(claim), grant->token};
  observer_.on_granted(hold, validity_of(*grant, {}).valid_until);
  co_return Handle(std::move(hold));
}

Task<Result<Handle>> Locker::detach(std::shared_ptr<LeaseRecord> record) {
  if (!record->validity.held(runtime_.now())) {
    co_return Failure(Code::not_held, "the lock '" + record->hold.claim.name.display() +
                                          "' was lost; there is nothing to detach");
  }
  // Its whole ttl begins now, also if the grant was short at first.
  if (Result<void> renewed = co_await renewer_.renew_now(record); !renewed) {
    co_return renewed.failure();
  }
  const Result<void> detached =
      co_await contained(engine_->detach(record->hold, request_deadline()));
  if (!detached) co_return detached.failure();
  renewer_.remove(*record);
  Hold hold = record->hold;
  hold.claim.outlives_process = true;
  co_return Handle(std::move(hold));
}

Task<void> Locker::abandon(std::shared_ptr<LeaseRecord> record) {
  renewer_.remove(*record);
  co_return;
}

Task<Result<Lease>> Locker::adopt(Hold hold, LockOptions options) {
  if (Result<void> checked = check(hold.claim, options); !checked) co_return checked.failure();
  if (Result<void> watched = start_watchdog(); !watched) co_return watched.failure();
  const std::vector<Result<Grant>> outcomes =
      co_await contained_renewal(*engine_, std::span(&hold, 1), request_deadline());
  const Result<Grant>& grant = outcomes.front();
  if (!grant) co_return grant.failure();
  if (runtime_.now() >= validity_of(*grant, options.warn_before).lost_at) {
    co_return Failure(Code::not_held, "the renewal came too late to be believed");
  }
  co_return keep(std::move(hold), *grant, options)->make_lease();
}

Task<Result<void>> Locker::renew_detached(Hold hold) {
  if (Result<void> checked = check(hold.claim, {}); !checked) co_return checked.failure();
  const std::vector<Result<Grant>> outcomes =
      co_await contained_renewal(*engine_, std::span(&hold, 1), request_deadline());
  if (!outcomes.front()) co_return outcomes.front().failure();
  co_return Result<void>();
}

Task<Result<void>> Locker::release_detached(Hold hold) {
  const Result<bool> ended = co_await contained(engine_->release(hold.claim, request_deadline()));
  if (!ended) co_return ended.failure();
  if (!*ended) {
    co_return Failure(Code::not_held, "the lock '" + hold.claim.name.display() +
                                          "' is not held by this handle: it expired or was "
                                          "released before");
  }
  co_return Result<void>();
}

Task<void> Locker::close() {
  tasks_.stop();
  static_cast<void>(co_await tasks_.join(Deadline::at(runtime_.now() + options_.release_timeout)));
  co_await engine_->close();
}

}  // namespace holdfast::internal
