#include <algorithm>
#include <map>

#include "base/known_server.h"
#include "engines/kit/contention_history.h"
#include "engines/kit/deadlines.h"
#include "engines/kit/expiry_look.h"
#include "engines/kit/failures.h"
#include "engines/kit/local_waiters.h"
#include "engines/kit/patience.h"
#include "engines/kit/withdrawal.h"
#include "engines/quorum/campaign.h"
#include "engines/quorum/quorum_view.h"
#include "engines/quorum/renewal_round.h"
#include "engines/quorum/voter.h"

namespace holdfast::internal::quorum {

namespace {

class QuorumEngine final : public Engine {
 public:
  QuorumEngine(Runtime& runtime, std::unique_ptr<Electorate> electorate,
               const QuorumOptions& options)
      : Engine(runtime),
        options_(options),
        // Nodes that are busy should still answer a caller that does not wait at all.
        deadlines_(runtime, options.request_timeout, 4 * options.node_timeout),
        electorate_(std::move(electorate)),
        known_(electorate_->guarantees()),
        campaign_(runtime, *electorate_, options),
        rounds_(runtime, *electorate_, campaign_, options) {}

  const Guarantees& guarantees() const override { return known_.guarantees(); }
  Task<Result<Examination>> examine(Deadline deadline) override {
    Result<Examination> found = co_await examine_all(*electorate_, deadlines_.request(deadline));
    if (!found) co_return found;
    static_cast<void>(known_.learn(std::move(found).value()));
    co_return *known_.last();
  }
  Task<Result<Grant>> acquire(const Claim& claim, const Wait& wait) override;
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline) override {
    std::vector<Hold> all(holds.begin(), holds.end());
    return rounds_.renew(std::move(all), deadlines_.request(deadline));
  }
  Task<Result<bool>> release(const Claim& claim, Deadline deadline) override {
    const Result<bool> released = co_await campaign_.release(claim, deadlines_.request(deadline));
    waiters_.wake(claim.name.bytes());
    co_return released;
  }
  Task<Result<void>> detach(const Hold& hold, Deadline) override {
    campaign_.forget(hold.claim.id);
    co_return Result<void>();  // Nothing here ends with the process.
  }
  Task<Result<std::vector<LockInfo>>> list(const std::string& prefix, Deadline deadline) override {
    return list_locks(runtime(), *electorate_, prefix, deadlines_.request(deadline));
  }
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override {
    return inspect_lock(runtime(), *electorate_, name, deadlines_.request(deadline));
  }
  Task<Result<void>> evict(const Name& name, Token token, Deadline deadline) override {
    return evict_lock(runtime(), *electorate_, name, token, deadlines_.request(deadline));
  }
  Task<void> close() override;

 private:
  // A claim in the lines of all nodes.
  struct Line {
    explicit Line(Runtime& runtime) : told(runtime) {}
    Event told;
    std::vector<std::unique_ptr<Voter::Waiter>> waiters;  // null where nodes tell nothing
    Ticket ticket;
  };

  // An attempt, again if nodes had to be opened first.
  Task<Campaign::Outcome> attempt(const Claim& claim, Ticket ticket, const Wait& wait);
  // `answered`: the nodes have said how it stands, so a failure is one that passes.
  Task<Result<Grant>> wait_in_line(const Claim& claim, const Wait& wait, bool answered);
  // Where nodes tell nothing: only the first of this client's claims asks again and again.
  Task<Result<Grant>> wait_and_ask(const Claim& claim, const Wait& wait);
  Task<void> stand_in_line(Line& line, const Claim& claim, const Wait& wait);
  Task<void> listen_at(std::size_t node, Deadline deadline, std::stop_token stop);
  // When to ask again if nobody tells.
  BootTime next_look(const Campaign::Outcome& outcome, bool told_of, int looks) const;
  Task<Woken> wait_for_turn(Line& line, BootTime look_at, const Wait& wait);
  // How often a claim tries that no majority has answered yet.
  static constexpr int kMaxFirstTries = 3;
  // Withdraws the claim by its id, and answers `why`.
  Task<Result<Grant>> give_up(const Claim& claim, Failure why);

  bool told() const { return guarantees().wake_up == WakeUp::push; }

  QuorumOptions options_;
  const Deadlines deadlines_;
  LocalWaiters waiters_;
  std::unique_ptr<Electorate> electorate_;
  KnownServer known_;
  Campaign campaign_;
  RenewalRounds rounds_;
  ContentionHistory recently_contended_;
};

// ---- Acquiring ---------------------------------------------------------------------------------

Task<Campaign::Outcome> QuorumEngine::attempt(const Claim& claim, Ticket ticket, const Wait& wait) {
  constexpr int kMaxOpenings = 20;  // each brought news: of a new era, or of nodes that vote again
  const Deadline limit = deadlines_.answer(wait);
  for (int openings = 0;; ++openings) {
    Campaign::Outcome outcome;
    if (electorate_->ready_to_vote()) {
      outcome = co_await campaign_.attempt(claim, ticket, limit, wait.stop);
    } else {
      outcome.closed = true;
    }
    if (const std::optional<Failure> problem = electorate_->problem()) {
      // Votes were counted that must not be.
      if (outcome.grant) static_cast<void>(co_await campaign_.release(claim, limit));
      outcome.grant.reset();
      outcome.failure = *problem;
      co_return outcome;
    }
    if (outcome.grant || !outcome.closed || openings >= kMaxOpenings) {
      electorate_->look_after();
      co_return outcome;
    }
    const Result<bool> opened = co_await electorate_->open(claim.ttl, limit);
    if (!opened) outcome.failure = opened.failure();
    if (opened && *opened) continue;
    if (!outcome.failure && outcome.busy_at == 0) {
      outcome.failure = Failure(Code::unreachable, "too few nodes vote: " + electorate_->state());
    }
    co_return outcome;
  }
}

Task<Result<Grant>> QuorumEngine::acquire(const Claim& claim, const Wait& wait) {
  if (std::optional<Failure> why = electorate_->refuses(claim)) co_return *why;
  constexpr int kMaxSplits = 8;
  constexpr Duration kSplitPause = std::chrono::milliseconds(2);
  constexpr Duration kMoment = std::chrono::milliseconds(100);
  if (wait.stop.stop_requested()) co_return cancelled_by_caller();
  if (!told() && wait.queue && !waiters_.empty(claim.name.bytes())) {
    co_return co_await wait_and_ask(claim, wait);
  }
  if (told() && wait.queue && recently_contended_.contains(claim.name, runtime().now())) {
    co_return co_await wait_in_line(claim, wait, false);
  }
  // Most locks are free: standing in line needs more.
  for (int splits = 0;; ++splits) {
    Campaign::Outcome outcome = co_await attempt(claim, std::nullopt, wait);
    if (outcome.grant) co_return *outcome.grant;
    if (outcome.failure) {
      // The caller withdraws a claim whose outcome is unknown.
      if (outcome.failure->code() == Code::unknown) co_return *outcome.failure;
      // A claim that may wait tries again when too few nodes answered.
      const BootTime again = runtime().now() + runtime().jitter(kMoment, 0.5);
      const bool patient = splits < kMaxFirstTries || electorate_->recovering();
      if (outcome.failure->code() == Code::unreachable && wait.queue && patient &&
          !wait.deadline.passed(again)) {
        if (co_await sleep_until(runtime(), again, wait.stop) != Woken::cancelled) continue;
        outcome.failure = cancelled_by_caller();
      }
      co_return co_await give_up(claim, *outcome.failure);
    }
    if (wait.queue) break;
    if (!outcome.split || splits >= kMaxSplits) {
      co_return co_await give_up(claim, Failure::busy(std::move(outcome.busy)));
    }
    // Votes of several who came at the same time: it is free as soon as they have given way.
    const BootTime again = runtime().now() + runtime().jitter(kSplitPause * (splits + 1), 0.8);
    static_cast<void>(co_await sleep_until(runtime(), again, wait.stop));
    if (wait.stop.stop_requested()) {
      co_return co_await give_up(claim, cancelled_by_caller());
    }
  }
  if (!told()) co_return co_await wait_and_ask(claim, wait);
  co_return co_await wait_in_line(claim, wait, true);
}

Task<Result<Grant>> QuorumEngine::wait_and_ask(const Claim& claim, const Wait& wait) {
  constexpr Duration kShortest = std::chrono::milliseconds(1);
  constexpr int kMaxDoublings = 6;
  LocalWaiters::Waiter waiter(waiters_, runtime(), claim.name.bytes(), claim.id);
  for (int looks = 0;; ++looks) {
    Busy busy = waiter.seen();
    BootTime next = BootTime::max();
    if (waiter.first()) {
      Campaign::Outcome outcome = co_await attempt(claim, std::nullopt, wait);
      if (outcome.grant) co_return *outcome.grant;
      if (outcome.failure) co_return co_await give_up(claim, *outcome.failure);
      busy = waiter.seen() = std::move(outcome.busy);
      if (waiter.released()) looks = 0;
      next = runtime().now() +
             runtime().jitter(kShortest * (1 << std::min(looks, kMaxDoublings)), 0.5);
    }
    waiter.told.reset();
    const Woken woken = co_await waiter.told.wait(wait.deadline.sooner(next), wait.stop);
    if (woken == Woken::cancelled) {
      co_return co_await give_up(claim, cancelled_by_caller());
    }
    if (wait.deadline.passed(runtime().now())) {
      co_return co_await give_up(claim, Failure::busy(std::move(busy)));
    }
  }
}

Task<void> QuorumEngine::listen_at(std::size_t node, Deadline deadline, std::stop_token stop) {
  Voter& voter = electorate_->voter(node);
  if (!voter.responsive()) co_return;
  static_cast<void>(co_await voter.listen(deadline, std::move(stop)));
}

Task<void> QuorumEngine::stand_in_line(Line& line, const Claim& claim, const Wait& wait) {
  TaskGroup group(runtime());
  const Deadline deadline = deadlines_.answer(wait).sooner(runtime().now() + options_.node_timeout);
  for (std::size_t node = 0; node < electorate_->size(); ++node) {
    if (!electorate_->voter(node).listening()) group.spawn(listen_at(node, deadline, wait.stop));
  }
  // (Those who do not listen in time are asked again at the next look.)
  static_cast<void>(co_await group.join(deadline));
  if (!line.waiters.empty()) co_return;
  for (std::size_t node = 0; node < electorate_->size(); ++node) {
    line.waiters.push_back(electorate_->voter(node).enqueue(claim, line.told));
  }
}

Task<Result<Grant>> QuorumEngine::wait_in_line(const Claim& claim, const Wait& wait,
                                               bool answered) {
  Line line(runtime());
  line.ticket = Arrival{runtime().now(), runtime().wall()};
  int splits = 0;
  Patience patience(runtime().now());
  for (int looks = 0;; ++looks) {
    co_await stand_in_line(line, claim, wait);
    for (const auto& waiter : line.waiters) {
      if (waiter) static_cast<void>(waiter->take_turn());  // This attempt uses them.
    }
    line.told.reset();
    Campaign::Outcome outcome = co_await attempt(claim, line.ticket, wait);
    if (outcome.grant) co_return *outcome.grant;
    if (wait.stop.stop_requested()) {
      co_return co_await give_up(claim, cancelled_by_caller());
    }
    const BootTime now = runtime().now();
    // Where the nodes do not agree who is first, each serves another, and nobody gets a majority:
    // some must go to the end of the line.
    constexpr int kMaxSplits = 3;
    splits = outcome.split && !outcome.failure ? splits + 1 : 0;
    if (splits > kMaxSplits && runtime().random() % 2 == 0) {
      line.ticket = Arrival{now, runtime().wall()};
      splits = 0;
    }
    bool told_of = line.waiters.front() != nullptr;
    if (outcome.failure) {
      const Code code = outcome.failure->code();
      const bool passing = may_pass(code) && (answered || code == Code::unreachable);
      const bool patient = answered ? patience.covers(code, now) : looks < kMaxFirstTries;
      if (!passing || !(patient || electorate_->recovering()) || wait.deadline.passed(now)) {
        co_return co_await give_up(claim, *outcome.failure);
      }
    } else {
      answered = true;
      patience.answered(now);
      recently_contended_.add(claim.name, now);
    }
    if (wait.deadline.passed(now)) {
      co_return co_await give_up(claim, Failure::busy(std::move(outcome.busy)));
    }
    // Clients of another kind do not notify when they release.
    if (outcome.foreign && told_of) {
      for (std::size_t node = 0; node < electorate_->size(); ++node) {
        if ((outcome.busy_at >> node & 1U) == 0) continue;
        const Deadline deadline = Deadline::at(runtime().now() + options_.node_timeout);
        told_of = co_await electorate_->voter(node).watch(claim.name, deadline) && told_of;
      }
    }
    const Woken woken = co_await wait_for_turn(line, next_look(outcome, told_of, looks), wait);
    if (woken == Woken::cancelled) {
      co_return co_await give_up(claim, cancelled_by_caller());
    }
    if (woken == Woken::timed_out && wait.deadline.passed(runtime().now())) {
      co_return co_await give_up(claim, Failure::busy(std::move(outcome.busy)));
    }
  }
}

BootTime QuorumEngine::next_look(const Campaign::Outcome& outcome, bool told_of, int looks) const {
  constexpr Duration kLookAgain = std::chrono::seconds(5);
  constexpr Duration kStagger = std::chrono::milliseconds(3);
  constexpr Duration kForeignLook = std::chrono::milliseconds(500);
  constexpr std::uint64_t kFirst = 2;
  constexpr Duration kShortest = std::chrono::milliseconds(1);
  constexpr Duration kLongest = std::chrono::milliseconds(50);
  const BootTime now = runtime().now();
  Duration pause = kLookAgain;
  if (outcome.failure) {
    pause = std::chrono::milliseconds(100);
  } else if (!told_of) {
    pause = std::min<Duration>(kShortest * (1 << std::min(looks, 6)), kLongest);
  } else if (outcome.split) {
    // Claims without a majority give way; the first in the queue are notified.
    pause = kStagger * (4 << std::min(looks, 4));
  } else if (outcome.foreign) {
    pause = kForeignLook;
  } else if (outcome.busy.rank < kFirst) {
    // The word may be kept for somebody who is stopped and does not know: nobody would tell.
    pause = 4 * options_.node_timeout;
  }
  const BootTime at = now + runtime().jitter(pause, 0.5);
  return outcome.failure ? at : std::min(at, look_after_expiry(outcome.busy, now));
}

Task<Woken> QuorumEngine::wait_for_turn(Line& line, BootTime look_at, const Wait& wait) {
  // The nodes hear of a release at about the same time; so a turn at one of them is soon followed
  // by others. Asking before a majority has come would ask in vain.
  const Duration grace = options_.node_timeout / 20;
  const std::size_t majority = majority_of(electorate_->size());
  std::uint32_t turns = 0;
  BootTime until = look_at;
  for (;;) {
    line.told.reset();
    const std::uint32_t before = turns;
    for (std::size_t node = 0; node < line.waiters.size(); ++node) {
      if (line.waiters[node] && line.waiters[node]->take_turn()) turns |= std::uint32_t{1} << node;
    }
    if (static_cast<std::size_t>(__builtin_popcount(turns)) >= majority) co_return Woken::signalled;
    if (turns != 0 && before == 0) until = std::min(until, runtime().now() + grace);
    const Woken woken = co_await line.told.wait(wait.deadline.sooner(until), wait.stop);
    if (woken != Woken::signalled) co_return woken;
    const bool turn = std::any_of(line.waiters.begin(), line.waiters.end(),
                                  [](const auto& waiter) { return waiter && waiter->has_turn(); });
    if (!turn) co_return Woken::signalled;  // another reason to look
  }
}

Task<Result<Grant>> QuorumEngine::give_up(const Claim& claim, Failure why) {
  if (!campaign_.knows(claim.id)) co_return why;  // No node was asked.
  const Result<bool> withdrawn = co_await campaign_.release(claim, deadlines_.withdrawal());
  co_return after_withdrawal(why, withdrawn);
}

Task<void> QuorumEngine::close() {
  campaign_.stop();
  rounds_.stop();
  electorate_->stop();
  for (std::size_t node = 0; node < electorate_->size(); ++node) electorate_->voter(node).stop();
  co_return;
}

}  // namespace

std::unique_ptr<Engine> make_quorum_engine(Runtime& runtime, std::unique_ptr<Electorate> electorate,
                                           const QuorumOptions& options) {
  return std::make_unique<QuorumEngine>(runtime, std::move(electorate), options);
}

}  // namespace holdfast::internal::quorum
