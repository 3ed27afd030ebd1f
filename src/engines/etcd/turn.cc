#include "engines/etcd/turn.h"

#include <algorithm>

#include "base/unreachable_instead_of_unknown.h"

namespace holdfast::internal::etcd {

namespace {

using Branch = Txn::Branch;
using State = Standing::State;

// Waiters survive a cluster that has lost its leader, or is being restarted: for so long, and at
// least for a ttl, as long as their place in the queue may still be there.
constexpr Duration kPatience = std::chrono::seconds(30);
constexpr Duration kLongestUnwatched = std::chrono::seconds(15);
// Also who asks for an answer at once gets so long for it.
constexpr Duration kGrace = std::chrono::milliseconds(250);

}  // namespace

// ---- The turn ----------------------------------------------------------------------------------

Turn::Turn(Common& common, const Claim& claim, const Wait& wait)
    : common_(common),
      claim_(claim),
      wait_(wait),
      keys_(common.settings.prefix, claim.name),
      // What outlives this process must be found by others.
      key_(claim.outlives_process ? keys_.of(claim) : keys_.at(claim, common.places.take(claim))),
      since_(common.runtime.wall()),
      vigil_(common.runtime, common.watcher) {
  common_.waiting[claim_.id] = this;
}

Turn::~Turn() {
  stop_watching();
  const auto found = common_.waiting.find(claim_.id);
  if (found != common_.waiting.end() && found->second == this) common_.waiting.erase(found);
  if (common_.holdings.find(claim_.id)) return;
  if (clean_) {
    common_.places.free(claim_.id);
  } else {
    common_.places.burn(claim_.id);
  }
}

void Turn::end() {
  ended_ = true;
  vigil_.told.set();
}

Deadline Turn::answer_deadline() const {
  const BootTime now = common_.runtime.now();
  return common_.request_deadline(wait_.deadline).later(now + kGrace);
}

std::string Turn::note(bool granted) const {
  return Note{.id = claim_.id,
              .granted = granted,
              .ttl = claim_.ttl,
              .since = since_,
              .label = claim_.label}
      .encode();
}

Task<Result<Grant>> Turn::take() {
  if (wait_.stop.stop_requested()) co_return common_.cancelled();
  if (wait_.queue) co_return co_await queue_up();
  co_return co_await try_once();
}

Task<Result<void>> Turn::find_session() {
  if (session_ && !(*session_)->lost && !(*session_)->retired && !(*session_)->outdated) {
    co_return Result<void>();
  }
  const Deadline deadline = answer_deadline();
  Result<SessionPtr> session = Failure(Code::unreachable, "");
  if (claim_.outlives_process) {
    session = co_await common_.sessions.own(claim_.ttl, deadline, wait_.stop);
  } else {
    session = co_await common_.sessions.of_ttl(claim_.ttl, key_, deadline, wait_.stop);
  }
  if (!session) co_return session.failure();
  session_.emplace(common_.runtime, *session);
  co_return Result<void>();
}

// ---- Asking ------------------------------------------------------------------------------------

Task<Result<Answer>> Turn::send(std::string txn) {
  const Deadline deadline = answer_deadline();
  clean_ = false;
  Result<Answer> answer = Failure(Code::unknown, "not answered");
  if (!wait_.stop.stop_possible()) {
    answer = co_await common_.cluster.call(Method::txn, std::move(txn), deadline);
  } else {
    // What is under way when the caller gives up is heard to its end, if that is near: a request
    // that is overtaken by its own withdrawal would leave its key behind.
    constexpr Duration kNear = std::chrono::seconds(1);
    Event answered(common_.runtime);
    TaskGroup group(common_.runtime);
    const auto ask = [](Cluster& cluster, std::string request, Deadline by, Result<Answer>& result,
                        Event& done) -> Task<void> {
      result = co_await cluster.call(Method::txn, std::move(request), by);
      done.set();
    };
    group.spawn(ask(common_.cluster, std::move(txn), deadline, answer, answered));
    if (co_await answered.wait(Deadline::never(), wait_.stop) == Woken::cancelled) {
      co_await answered.wait(Deadline::at(common_.runtime.now() + kNear));
    }
  }
  if (answer ? answer->repeated : answer.code() == Code::unknown) unsure_ = true;
  if (answer) answered();
  co_return answer;
}

Result<Standing> Turn::standing_in(const Result<Answer>& answer, Asked asked) {
  if (!answer) return answer.failure();
  std::optional<TxnAnswer> done = decode_txn(answer->message);
  if (!done || done->parts.empty()) return common_.makes_no_sense();
  if (asked == Asked::put && done->succeeded) {  // What was put needs not be read.
    const Revision now = done->header.revision;
    done->parts.front().range.pairs = {KeyValue{key_, note(false), now, now, (*session_)->lease}};
  }
  Standing standing = standing_of(keys_, claim_, *done, 0);
  if (standing.state == State::absent && !unsure_) clean_ = true;
  if (asked == Asked::put && !done->succeeded && standing.created != 0) found_ = true;
  if (asked == Asked::put && (*session_)->readable.empty()) (*session_)->readable = key_;
  if (standing.created != 0) {
    created_ = standing.created;
    lease_ = standing.lease;
    entered_ = true;
  }
  return standing;
}

// Into the queue, and where do we stand: one round trip.
Task<Result<Standing>> Turn::enter(bool behind) {
  Txn txn;
  txn.if_created_at(key_, 0);
  txn.put(Branch::then, key_, note(false), (*session_)->lease);
  if (!behind) add_look(txn, Branch::then, keys_, claim_, std::string());
  add_look(txn, Branch::otherwise, keys_, claim_, key_);
  const Result<Answer> answer = co_await send(txn.encode());
  Result<Standing> standing = standing_in(answer, Asked::put);
  if (standing && standing->state == State::absent) {  // Somebody else is in our place.
    clean_ = false;
    co_return common_.makes_no_sense();
  }
  co_return standing;
}

Task<Result<Standing>> Turn::enter_in_order() {
  Entrance::Pass pass(common_.entrance);
  const Woken let_in = co_await pass.wait(wait_.deadline, wait_.stop);
  if (let_in != Woken::signalled) co_return over(let_in).value_or(Failure::busy({}));
  const bool behind = claim_.mode == Mode::exclusive && common_.local_queue.long_enough(keys_.base);
  co_return co_await enter(behind);
}

// The same, but only if that makes us a holder. For permits, which etcd cannot count in a
// condition, after a look.
Task<Result<Standing>> Turn::enter_if_free() {
  Txn txn;
  txn.if_created_at(key_, 0);
  if (claim_.mode == Mode::exclusive) {
    txn.if_created_at(keys_.base, 0, keys_.end);
  } else if (claim_.mode == Mode::shared) {
    txn.if_created_at(keys_.base, 0, keys_.shared_begin);
    txn.if_created_at(keys_.shared_end, 0, keys_.end);
  }
  txn.put(Branch::then, key_, note(false), (*session_)->lease);
  add_look(txn, Branch::then, keys_, claim_, std::string(), 0, Look::with_holder);
  add_look(txn, Branch::otherwise, keys_, claim_, key_, 0, Look::with_holder);
  const Result<Answer> answer = co_await send(txn.encode());
  co_return standing_in(answer, Asked::put);
}

Task<Result<Standing>> Turn::look(Look how) {
  Revision created = created_;
  for (;;) {
    Txn txn;
    add_look(txn, Branch::then, keys_, claim_, key_, created, how);
    const Deadline deadline = answer_deadline();
    const Result<Answer> answer =
        co_await common_.cluster.call(Method::txn, txn.encode(), deadline, wait_.stop);
    Result<Standing> standing = standing_in(answer, Asked::look);
    if (!standing) co_return unreachable_instead_of_unknown(standing.failure());
    answered();
    if (standing->state != State::unclear || standing->created == created) {
      co_return standing;
    }
    created = standing->created;  // Now that it is known, those before us can be asked for.
  }
}

// Whether what is in the way is still there: cheaper than a look.
Task<Result<bool>> Turn::nothing_happened(Standing& standing) {
  Txn txn;
  txn.range(Branch::then, Range{.key = key_, .end = {}});
  for (const InTheWay& key : watched_) txn.range(Branch::then, Range{.key = key.key, .end = {}});
  const Deadline deadline = answer_deadline();
  const Result<Answer> answer =
      co_await common_.cluster.call(Method::txn, txn.encode(), deadline, wait_.stop);
  if (!answer) co_return Failure(Code::unreachable, answer.message());
  const std::optional<TxnAnswer> seen = decode_txn(answer->message);
  if (!seen) co_return false;
  answered();
  const KeyValue* const own = seen->first(0);
  if (!own || own->created != standing.created) co_return false;
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    const KeyValue* const pair = seen->first(i + 1);
    if (!pair || pair->created != watched_[i].created) co_return false;
    const WatchEvent as_told{.removed = false, .pair = *pair};
    if (news_of(watched_[i], keys_, claim_, as_told) != News::nothing) co_return false;
  }
  standing.seen_at = seen->header.revision;
  co_return true;
}

// ---- Without waiting ---------------------------------------------------------------------------

Task<Result<Grant>> Turn::try_once() {
  const auto other_number = [&](std::uint32_t number) {
    return Failure(Code::invalid_argument,
                   "the semaphore '" + claim_.name.display() + "' has " + std::to_string(number) +
                       " permits at present, not " + std::to_string(claim_.permits));
  };
  if (claim_.mode == Mode::permit) {
    const Result<Standing> standing = co_await look(Look::with_holder);
    if (!standing) co_return standing.failure();
    if (standing->state == State::other_number) co_return other_number(standing->other_permits);
    if (standing->state == State::waits && standing->created == 0) {
      co_return Failure::busy(standing->busy);
    }
  }
  for (int attempt = 0;; ++attempt) {
    const Result<void> found = co_await find_session();
    if (!found) co_return found.failure();
    const Result<Standing> standing = co_await enter_if_free();
    if (!standing && Cluster::is_lease_not_found(standing.failure()) && attempt < 3) {
      common_.sessions.lose(**session_);
      continue;
    }
    if (!standing && wait_.stop.stop_requested()) co_return co_await leave(common_.cancelled());
    if (!standing) {
      if (standing.code() == Code::unknown) common_.sessions.retire(**session_, key_);
      co_return standing.failure();
    }
    if (standing->state == State::holds) {
      Result<Grant> granted = co_await grant(found_);
      if (!granted && granted.code() == Code::not_held && attempt < 3) continue;
      co_return granted;
    }
    if (standing->state == State::absent) {
      if (unsure_) co_return co_await leave(Failure::busy(standing->busy));
      if (claim_.outlives_process) common_.sessions.give_back(session_->get());
      co_return Failure::busy(standing->busy);
    }
    if (standing->state == State::other_number) {
      co_return co_await leave(other_number(standing->other_permits));
    }
    co_return co_await leave(Failure::busy(standing->busy));
  }
}

// ---- In the queue ------------------------------------------------------------------------------

bool Turn::passing(const Failure& failure) {
  const BootTime now = common_.runtime.now();
  if (!troubled_since_) troubled_since_ = now;
  return (failure.code() == Code::unreachable || failure.code() == Code::unknown) &&
         now - *troubled_since_ <= std::max(kPatience, claim_.ttl);
}

Duration Turn::own_pace() const {
  return common_.runtime.jitter(std::min<Duration>(claim_.ttl / 2, kLongestUnwatched));
}

std::optional<Failure> Turn::over(Woken woken) {
  if (ended_) return Failure(Code::cancelled, "it was released while it waited");
  if (woken == Woken::cancelled || wait_.stop.stop_requested()) return common_.cancelled();
  if (wait_.deadline.passed(common_.runtime.now())) return Failure::busy({});
  return std::nullopt;
}

Task<Result<Grant>> Turn::queue_up() {
  for (Duration pause = std::chrono::milliseconds(20);;
       pause = std::min<Duration>(pause * 2, std::chrono::milliseconds(500))) {
    std::optional<Failure> why;
    if (ended_) co_return co_await leave(*over(Woken::signalled));
    place_.reset();
    const Result<void> found = co_await find_session();
    if (!found) {
      why = found.failure();
    } else {
      const Result<Standing> standing = co_await enter_in_order();
      if (!standing && Cluster::is_lease_not_found(standing.failure())) {
        common_.sessions.lose(**session_);
        continue;
      }
      if (!standing) {
        why = standing.failure();
      } else if (standing->state == State::holds) {
        Result<Grant> granted = co_await grant(found_);
        if (!granted && granted.code() == Code::not_held) continue;
        co_return granted;
      } else if (standing->state == State::other_number) {
        Failure wrong(Code::invalid_argument, "the semaphore '" + claim_.name.display() + "' has " +
                                                  std::to_string(standing->other_permits) +
                                                  " permits at present, not " +
                                                  std::to_string(claim_.permits));
        co_return co_await leave(std::move(wrong));
      } else {
        const Result<Outcome> outcome = co_await wait_for_turn(*standing);
        if (!outcome) co_return co_await leave(outcome.failure());
        if (*outcome == Outcome::holds) {
          Result<Grant> granted = co_await grant(true);
          // Lost at the last moment: back to the end of the queue.
          if (!granted && granted.code() == Code::not_held) continue;
          co_return granted;
        }
        continue;
      }
    }
    if (const auto end = over(Woken::signalled)) co_return co_await leave(*end);
    // Who has never been in the queue hears at once what is wrong; who has been waits for better.
    if (!passing(*why) || !(entered_ || unsure_)) co_return co_await leave(*why);
    const Deadline again =
        wait_.deadline.sooner(common_.runtime.now() + common_.runtime.jitter(pause));
    const Woken woken = co_await vigil_.told.wait(again, wait_.stop);
    vigil_.told.reset();
    if (const auto end = over(woken)) co_return co_await leave(*end);
  }
}

Task<Result<Turn::Outcome>> Turn::wait_for_turn(Standing standing) {
  bool again = standing.state == State::unclear;
  Duration pause = std::chrono::milliseconds(10);
  Duration doubt = std::chrono::milliseconds(4);
  BootTime look_by = common_.runtime.now() + own_pace();
  stop_watching();
  if (claim_.mode == Mode::exclusive) {
    const auto order = static_cast<std::uint64_t>(created_);
    place_ = std::make_unique<LocalQueue<InTheWay>::Entry>(common_.local_queue, keys_.base, key_,
                                                           order, vigil_.told);
  }
  if (again && place_) {
    if (const std::optional<Failure> end = co_await rest()) co_return *end;
    if ((*session_)->lost) co_return Outcome::absent;
    if (!place_->before) static_cast<void>(co_await survey());
    if (place_->before) {
      standing.state = State::waits;
      standing.in_the_way = {*place_->before};
      standing.seen_at = 0;  // It is time to look whether they are still there.
      again = false;
    }
  }
  for (;;) {
    if (again) {
      Result<Standing> looked = co_await look(Look::plain);
      if (looked) standing = std::move(looked).value();
      if (!looked && !passing(looked.failure())) co_return looked.failure();
      if (looked && standing.state == State::holds) co_return Outcome::holds;
      if (looked && standing.state == State::absent) co_return Outcome::absent;
      again = !looked;
    }
    if (!again) watch(standing);
    const BootTime now = common_.runtime.now();
    Deadline until = wait_.deadline.sooner(again ? now + common_.runtime.jitter(pause) : look_by);
    const bool doubtful = !again && vigil_.may_be_late(now);
    if (doubtful) until = until.sooner(now + std::exchange(doubt, doubt * 2));
    if (again) pause = std::min<Duration>(pause * 2, std::chrono::milliseconds(500));
    const Woken woken = co_await vigil_.told.wait(until, wait_.stop);
    vigil_.told.reset();
    if (const auto end = over(woken)) co_return *end;
    if ((*session_)->lost) co_return Outcome::absent;
    if (vigil_.blind) {
      stop_watching();
      again = true;
      // Not in a hurry: a server that cannot watch would be asked without end.
      static_cast<void>(co_await sleep_until(
          common_.runtime, common_.runtime.now() + common_.runtime.jitter(pause), wait_.stop));
      pause = std::min<Duration>(pause * 2, std::chrono::milliseconds(500));
      continue;
    }
    if (hear(again)) co_return Outcome::holds;
    // Between our look and the beginning of the watches something may have happened, or after that
    // if they are late; or a notification was lost. (The first of our own claims looks for all.)
    const bool front = !place_ || place_->first();
    const bool due = common_.runtime.now() >= look_by;
    if (due) look_by = common_.runtime.now() + own_pace();
    if (due && (*session_)->outdated) static_cast<void>(co_await change_session());
    // Not only keys that are gone: a mark may be lost as well.
    if (due && claim_.mode == Mode::permit) again = true;
    const bool late = doubtful && woken == Woken::timed_out && front;
    const bool missed = vigil_.all_watching() && (late || !vigil_.watching_since(standing.seen_at));
    if (!again && (missed || (due && front))) {
      const Result<bool> calm = co_await nothing_happened(standing);
      again = !calm || !*calm;
      if (!again) vigil_.nothing_happened(standing.seen_at);
      if (hear(again)) co_return Outcome::holds;
      if (!vigil_.watching_since(standing.seen_at)) again = true;
    }
  }
}

// ---- Out of it ---------------------------------------------------------------------------------

Task<Result<Grant>> Turn::grant(bool waited) {
  Runtime& runtime = common_.runtime;
  SessionPtr session = session_->get();
  bool unsure = unsure_;
  if (const Holding* holding = common_.holdings.find(claim_.id);
      holding && holding->token == created_) {
    session = holding->session;  // asked for again
    // A request to end it that was not answered may yet be executed, too.
    unsure = unsure || holding->unsure || holding->ending;
  } else if (SessionPtr former =
                 lease_ == session->lease ? session : common_.sessions.find(lease_)) {
    session = std::move(former);  // It may have changed between two attempts.
  } else {
    session = std::make_shared<Session>();  // Another process of ours had put the key there.
    session->lease = lease_;
    session->shared = false;
  }
  // A hold for a script is renewed by nobody at first: it needs its whole ttl.
  const bool whole = claim_.outlives_process && waited;
  if (whole || runtime.now() > session->confirmed + std::min(claim_.ttl, session->ttl) / 5) {
    const Result<void> fresh = co_await refresh_for_grant(session);
    if (!fresh && fresh.code() == Code::not_held) co_return fresh.failure();
    if (!fresh && runtime.now() > session->confirmed + claim_.ttl / 2) {
      co_return co_await leave(fresh.failure());
    }
  }
  const Duration ttl = std::min(claim_.ttl, session->ttl);
  const BootTime ends_at = session->confirmed + claim_.ttl;
  common_.holdings.remember(claim_, Holding{session, key_, created_, unsure}, ends_at);
  if (claim_.outlives_process) common_.sessions.forget(session);
  const auto [next, past] = common_.watched.equal_range(key_);
  for (auto one = next; one != past; ++one) one->second->hear_of_holder(key_, created_);
  if (waited && claim_.mode != Mode::shared) {
    if (place_) place_->leave_behind();
    common_.background.spawn(common_.mark(key_, created_, note(true), std::move(place_)));
  }
  co_return Grant{Token(static_cast<std::uint64_t>(created_)), session->confirmed, ttl};
}

Task<Result<void>> Turn::refresh_for_grant(SessionPtr& session) {
  const Deadline deadline = answer_deadline();
  if (!session->outdated) {
    Result<void> fresh = co_await common_.sessions.refresh(session, key_, deadline);
    if (!session->outdated) co_return fresh;
  }
  const Result<SessionPtr> moved =
      co_await common_.sessions.replace(session, claim_.ttl, key_, created_, deadline);
  if (!moved) co_return moved.failure();
  common_.holdings.forget(claim_.id);  // It is remembered with its new session.
  session = *moved;
  session_.emplace(common_.runtime, session);
  lease_ = session->lease;
  co_return Result<void>();
}

Task<Result<Grant>> Turn::leave(Failure why) {
  if (why.code() == Code::busy && entered_ && wait_.queue) {  // By whom?
    const Result<Standing> standing = co_await look(Look::with_holder);
    if (standing) why = Failure::busy(standing->busy);
  }
  // Whoever gave up waiting should not wait much longer; what is unknown is ended in the background.
  constexpr Duration kLongest = std::chrono::seconds(1);
  if (session_ && claim_.outlives_process) common_.sessions.give_back(session_->get());
  if (!entered_ && !unsure_) co_return why;
  if (unsure_) common_.sessions.retire(**session_, key_);
  const Deadline deadline = Deadline::at(common_.runtime.now() + kLongest);
  const Result<bool> left = co_await common_.remove(claim_, key_, 0, deadline);
  if (left && !unsure_) clean_ = true;
  if (!left && left.code() == Code::misconfigured) co_return left.failure();
  if (!left) {
    co_return Failure(Code::unknown,
                      why.message() + "; and the claim could not be taken back: " + left.message());
  }
  // It is known now: nothing is held.
  if (why.code() == Code::unknown) co_return Failure(Code::unreachable, why.message());
  co_return why;
}

}  // namespace holdfast::internal::etcd
