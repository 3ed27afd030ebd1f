#include "engines/memcached/memcached_engine.h"

#include <algorithm>

#include "base/known_server.h"
#include "base/unreachable_instead_of_unknown.h"
#include "engines/kit/deadlines.h"
#include "engines/kit/failures.h"
#include "engines/kit/local_waiters.h"
#include "engines/kit/patience.h"
#include "engines/kit/withdrawal.h"
#include "engines/memcached/facts.h"
#include "engines/memcached/holds.h"
#include "engines/memcached/persist.h"

namespace holdfast::internal {

namespace {

using memcached::Change;
using memcached::Held;
using memcached::holder_info;
using memcached::ItemTtl;
using memcached::Kept;
using memcached::Keys;
using memcached::kForeignLabel;
using memcached::persist;
using memcached::Repeated;
using memcached::Replacement;
using memcached::Sight;
using memcached::Stamp;
using memcached::Taking;
using memcached::Verdict;
using memcached::Word;
using memcached::word_of;

class MemcachedEngine final : public Engine {
 public:
  MemcachedEngine(const memcached::Settings& settings, Runtime& runtime)
      : Engine(runtime),
        settings_(settings),
        deadlines_(runtime, settings.request_timeout),
        node_(runtime, settings),
        holds_(runtime, node_, settings.request_timeout) {}

  const Guarantees& guarantees() const override { return known_.guarantees(); }
  Task<Result<Examination>> examine(Deadline deadline) override;
  Task<Result<Grant>> acquire(const Claim& claim, const Wait& wait) override;
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline) override;
  Task<Result<bool>> release(const Claim& claim, Deadline deadline) override;
  Task<Result<void>> detach(const Hold& hold, Deadline) override {
    holds_.forget(hold.claim.id);
    co_return Result<void>();  // Nothing here ends with the process.
  }
  Task<Result<std::vector<LockInfo>>> list(const std::string& prefix, Deadline deadline) override;
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override;
  Task<Result<void>> evict(const Name& name, Token token, Deadline deadline) override;
  Task<void> close() override {
    holds_.stop();
    co_return;
  }

 private:
  // A grant, or the holder.
  struct Asked {
    std::optional<Grant> grant;
    Busy busy;
    ClaimId holder;
  };

  Keys keys_of(const Name& name) const { return Keys(settings_.prefix, name); }

  // Takes the lock if it is free, or if the claim's own word is there.
  Task<Result<Asked>> ask(const Claim& claim, const Keys& keys, Deadline deadline,
                          std::stop_token stop);
  Task<Result<Asked>> ask_once(const Claim& claim, const Keys& keys, Deadline deadline,
                               std::stop_token stop);
  Task<Result<std::optional<Grant>>> taken(const Claim& claim, const Keys& keys, Word word,
                                           Taking taking, Deadline deadline);
  // The claim's own word is there: an earlier attempt was executed, and its reply was lost.
  Task<Result<std::optional<Grant>>> take_up(const Claim& claim, const Keys& keys, Sight seen,
                                             Deadline deadline);
  // Polls while others hold it: memcached does not notify.
  Task<Result<Grant>> wait_and_poll(const Claim& claim, const Keys& keys, const Wait& wait,
                                    std::optional<Asked> known);
  // Takes the lock; with `look`, only if a look finds it free. `unsure` is set if the outcome is unknown.
  Task<Result<Asked>> poll(const Claim& claim, const Keys& keys, bool look, const Wait& wait,
                           bool& unsure);
  // Why the wait is over, if it is.
  std::optional<Failure> end_of_wait(LocalWaiters::Waiter& waiter, Woken woken,
                                     const Wait& wait) const;
  // Withdraws the claim by its id, and answers `why`.
  Task<Result<Grant>> give_up(const Claim& claim, Failure why);

  Task<void> renew_one(const Hold& hold, Deadline deadline, Result<Grant>& outcome);
  Task<void> renew_part(std::span<const Hold> holds, std::span<Result<Grant>> outcomes,
                        Deadline deadline);
  static Asked busy_of(const Sight& seen);

  KnownServer known_{memcached_guarantees()};
  const memcached::Settings settings_;
  const Deadlines deadlines_;
  LocalWaiters waiters_;
  memcached::Node node_;
  memcached::Holds holds_;
};

// ---- Asking ------------------------------------------------------------------------------------

MemcachedEngine::Asked MemcachedEngine::busy_of(const Sight& seen) {
  Asked asked;
  asked.busy.holder = seen.word ? seen.word->label : seen.present ? kForeignLabel : "";
  asked.busy.expires_in = seen.left;
  if (seen.word) {
    asked.busy.token = seen.word->token.value();
    asked.holder = seen.word->claim;
  }
  return asked;
}

Task<Result<MemcachedEngine::Asked>> MemcachedEngine::ask(const Claim& claim, const Keys& keys,
                                                          Deadline deadline, std::stop_token stop) {
  const auto attempt = [&] { return ask_once(claim, keys, deadline, stop); };
  Result<Repeated<Asked>> asked = co_await persist<Asked>(runtime(), attempt, deadline, stop);
  if (!asked) co_return asked.failure();
  co_return std::move(asked->value);
}

Task<Result<MemcachedEngine::Asked>> MemcachedEngine::ask_once(const Claim& claim, const Keys& keys,
                                                               Deadline deadline,
                                                               std::stop_token stop) {
  constexpr int kMaxRounds = 4;  // while it comes and goes between two of our commands
  Asked asked;
  for (int round = 0; round < kMaxRounds; ++round) {
    Word word = word_of(claim, Token(), runtime().wall());
    Result<Taking> taking =
        co_await node_.take(keys, word, ItemTtl(claim.ttl), true, deadline, stop);
    if (!taking) co_return taking.failure();
    const Sight& seen = taking->seen;
    if (taking->stamp || seen.of(claim.id)) {
      Result<std::optional<Grant>> grant(std::nullopt);
      if (taking->stamp) {
        grant = co_await taken(claim, keys, std::move(word), std::move(*taking), deadline);
      } else {
        grant = co_await take_up(claim, keys, seen, deadline);
      }
      if (!grant) co_return grant.failure();
      asked.grant = *grant;
      if (asked.grant) co_return asked;
    } else if (seen.word && seen.word->name != claim.name.bytes()) {
      co_return node_.connection().failed(
          Code::misconfigured, "the lock '" + claim.name.display() + "' has the same key as '" +
                                   Name(seen.word->name).display() + "'; use another prefix");
    } else if (!seen.free()) {
      co_return busy_of(seen);
    }
  }
  co_return asked;
}

Task<Result<std::optional<Grant>>> MemcachedEngine::taken(const Claim& claim, const Keys& keys,
                                                          Word word, Taking taking,
                                                          Deadline deadline) {
  const ItemTtl ttl(claim.ttl);
  if (taking.no_token) {  // Then it is no grant, and must not stand in others' way.
    const Result<bool> ended = co_await node_.release(keys, claim.id, taking.stamp, deadline);
    if (!ended) co_return Failure(Code::unknown, taking.no_token->message());
    co_return *taking.no_token;
  }
  word.token = taking.token;
  Grant grant{taking.token, taking.sent_at, ttl.sure};
  if (!claim.outlives_process) {
    holds_.remember(Held{keys, std::move(word), ttl, *taking.stamp});
    co_return grant;
  }
  // This process may end before it would be recorded in the background.
  const Result<Kept> kept =
      co_await node_.renew(keys, std::move(word), ttl, taking.stamp, deadline);
  if (kept && !kept->held) co_return std::nullopt;
  if (kept) grant.counted_from = kept->sent_at;
  co_return grant;
}

Task<Result<std::optional<Grant>>> MemcachedEngine::take_up(const Claim& claim, const Keys& keys,
                                                            Sight seen, Deadline deadline) {
  const ItemTtl ttl(claim.ttl);
  Word word = word_of(claim, seen.word->token, runtime().wall());
  word.since_us = seen.word->since_us;
  if (word.token == Token()) {
    if (const Held* held = holds_.find(claim.id)) word.token = held->word.token;
  }
  if (word.token == Token()) {
    const Result<Token> token = co_await node_.draw(keys, deadline);
    if (!token) co_return Failure(Code::unknown, token.message());
    word.token = *token;
  }
  const Result<Kept> kept = co_await node_.renew(keys, word, ttl, seen.stamp, deadline);
  if (!kept) co_return Failure(Code::unknown, kept.message());
  if (!kept->held) co_return std::nullopt;
  holds_.remember(Held{keys, std::move(word), ttl, kept->stamp, true});
  co_return Grant{kept->token, kept->sent_at, ttl.sure};
}

Task<Result<Examination>> MemcachedEngine::examine(Deadline deadline) {
  Result<memcached::Facts> facts =
      co_await memcached::ask_facts(runtime(), settings_, deadlines_.request(deadline));
  if (!facts) co_return facts.failure();
  static_cast<void>(known_.learn(memcached::examined(*facts)));
  co_return *known_.last();
}

// ---- Acquiring ---------------------------------------------------------------------------------

Task<Result<Grant>> MemcachedEngine::acquire(const Claim& claim, const Wait& wait) {
  const Keys keys = keys_of(claim.name);
  if (wait.stop.stop_requested()) co_return cancelled_by_caller();
  std::optional<Asked> known;
  if (!wait.queue || waiters_.empty(keys.word)) {
    const Deadline limit = deadlines_.answer(wait);
    Result<Asked> asked = co_await ask(claim, keys, limit, wait.stop);
    if (!asked && asked.code() == Code::unknown && wait.stop.stop_requested()) {
      co_return co_await give_up(claim, cancelled_by_caller());
    }
    if (!asked) co_return asked.failure();
    if (asked->grant) co_return *asked->grant;
    if (!wait.queue) {
      if (asked->busy.token == 0 && asked->holder != ClaimId()) {  // It will be recorded soon.
        const Result<Sight> seen = co_await node_.look_for_token(keys, limit, wait.stop);
        if (seen && seen->word) asked = busy_of(*seen);
      }
      co_return Failure::busy(std::move(asked->busy));
    }
    known = std::move(asked).value();
  }
  co_return co_await wait_and_poll(claim, keys, wait, std::move(known));
}

Task<Result<Grant>> MemcachedEngine::wait_and_poll(const Claim& claim, const Keys& keys,
                                                   const Wait& wait, std::optional<Asked> known) {
  // Often at first: many locks are held for a moment only.
  constexpr Duration kShortest = std::chrono::milliseconds(1);
  constexpr Duration kLongest = std::chrono::milliseconds(50);
  LocalWaiters::Waiter waiter(waiters_, runtime(), keys.word, claim.id);
  ClaimId holder;
  if (known) {
    waiter.seen() = known->busy;
    holder = known->holder;
  }
  Duration pause = kShortest;
  bool unsure = false;  // a request of ours was not answered
  Patience patience(runtime().now());
  for (;;) {
    Deadline until = wait.deadline;
    if (waiter.first()) until = until.sooner(runtime().now() + runtime().jitter(pause, 0.3));
    const Woken woken = co_await waiter.told.wait(until, wait.stop);
    waiter.told.reset();
    if (const std::optional<Failure> over = end_of_wait(waiter, woken, wait)) {
      if (unsure) co_return co_await give_up(claim, *over);
      co_return *over;
    }
    if (!waiter.first()) continue;

    const bool look = !waiter.released();
    Result<Asked> asked = co_await poll(claim, keys, look, wait, unsure);
    const BootTime now = runtime().now();
    if (!asked) {
      if (wait.stop.stop_requested()) continue;
      if (patience.covers(asked.code(), now) && !wait.deadline.passed(now)) {
        pause = kLongest;
        continue;
      }
      if (unsure) co_return co_await give_up(claim, asked.failure());
      co_return unreachable_instead_of_unknown(asked.failure());
    }
    if (asked->grant) co_return *asked->grant;
    patience.answered(now);
    // A lock that has another holder each time will soon be free again.
    const bool moves = asked->holder != holder;
    pause = moves ? std::max<Duration>(pause / 2, kShortest) : std::min(pause * 3 / 2, kLongest);
    holder = asked->holder;
    waiter.seen() = std::move(asked->busy);
  }
}

std::optional<Failure> MemcachedEngine::end_of_wait(LocalWaiters::Waiter& waiter, Woken woken,
                                                    const Wait& wait) const {
  if (woken == Woken::cancelled) return cancelled_by_caller();
  if (waiter.ended()) return released_while_waiting();
  if (wait.deadline.passed(runtime().now())) return Failure::busy(waiter.seen());
  return std::nullopt;
}

Task<Result<MemcachedEngine::Asked>> MemcachedEngine::poll(const Claim& claim, const Keys& keys,
                                                           bool look, const Wait& wait,
                                                           bool& unsure) {
  const Deadline limit = deadlines_.answer(wait);
  if (look) {  // It is cheaper than to try, for the server and for the holder: see docs/engines.
    const Result<Sight> seen = co_await node_.look(keys, limit, wait.stop);
    if (!seen) co_return seen.failure();
    if (!seen->free() && !seen->of(claim.id)) co_return busy_of(*seen);
  }
  Result<Asked> asked = co_await ask(claim, keys, limit, wait.stop);
  unsure = !asked && asked.code() == Code::unknown;
  co_return asked;
}

Task<Result<Grant>> MemcachedEngine::give_up(const Claim& claim, Failure why) {
  const Result<bool> withdrawn = co_await release(claim, deadlines_.withdrawal());
  co_return after_withdrawal(why, withdrawn);
}

// ---- Keeping and giving back -------------------------------------------------------------------

Task<std::vector<Result<Grant>>> MemcachedEngine::renew(std::span<const Hold> holds,
                                                        Deadline deadline) {
  // Enough to hide the way to the server, and little enough for its buffers and ours.
  constexpr std::size_t kPart = 200;
  const Deadline limit = deadlines_.request(deadline);
  std::vector<Result<Grant>> outcomes(holds.size(), Failure(Code::unreachable, "not asked"));
  for (std::size_t begin = 0; begin < holds.size(); begin += kPart) {
    const std::size_t size = std::min(kPart, holds.size() - begin);
    co_await renew_part(holds.subspan(begin, size), std::span(outcomes).subspan(begin, size),
                        limit);
  }
  co_return outcomes;
}

Task<void> MemcachedEngine::renew_part(std::span<const Hold> holds,
                                       std::span<Result<Grant>> outcomes, Deadline deadline) {
  std::vector<Held> known;
  std::vector<std::size_t> known_at;
  for (std::size_t i = 0; holds.size() > 1 && i < holds.size(); ++i) {
    const Held* const held = holds_.find(holds[i].claim.id);
    if (!held || !node_.fresh(held->stamp)) continue;
    known.push_back(*held);
    known_at.push_back(i);
  }
  std::vector<Replacement> all;
  all.reserve(known.size());
  for (const Held& held : known) all.push_back({&held.keys, &held.word, held.ttl, held.stamp});
  const std::vector<Result<Change>> changes = co_await node_.replace_all(all, deadline);
  std::vector<bool> done(holds.size());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (!changes[i] || changes[i]->verdict != Verdict::done) continue;
    const Hold& hold = holds[known_at[i]];
    holds_.renewed(hold.claim.id, Kept{true, changes[i]->stamp, hold.token, changes[i]->sent_at});
    outcomes[known_at[i]] = Grant{hold.token, changes[i]->sent_at, known[i].ttl.sure};
    done[known_at[i]] = true;
  }
  // The others one by one, and all at the same time: each has to look first.
  TaskGroup group(runtime());
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (!done[i]) group.spawn(renew_one(holds[i], deadline, outcomes[i]));
  }
  static_cast<void>(co_await group.join(Deadline::never()));
}

Task<void> MemcachedEngine::renew_one(const Hold& hold, Deadline deadline, Result<Grant>& outcome) {
  const Keys keys = keys_of(hold.claim.name);
  const ItemTtl ttl(hold.claim.ttl);
  const auto attempt = [&] {
    Word word = word_of(hold.claim, hold.token, runtime().wall());
    std::optional<Stamp> stamp;
    if (const Held* held = holds_.find(hold.claim.id)) {
      word.since_us = held->word.since_us;
      stamp = held->stamp;
    }
    return node_.renew(keys, std::move(word), ttl, stamp, deadline);
  };
  const Result<Repeated<Kept>> kept = co_await persist<Kept>(runtime(), attempt, deadline);
  if (!kept) {
    outcome = kept.failure();
    co_return;
  }
  holds_.renewed(hold.claim.id, kept->value);
  if (kept->value.held) {
    outcome = Grant{hold.token, kept->value.sent_at, ttl.sure};
  } else {
    outcome = no_longer_held(hold.claim.name,
                             "it expired, was released, was taken away, or memcached dropped it");
  }
}

Task<Result<bool>> MemcachedEngine::release(const Claim& claim, Deadline deadline) {
  const Keys keys = keys_of(claim.name);
  const Deadline limit = deadlines_.request(deadline);
  std::optional<Stamp> stamp;
  if (const Held* held = holds_.find(claim.id)) stamp = held->stamp;
  holds_.forget(claim.id);
  waiters_.end(keys.word, claim.id);
  const auto attempt = [&] { return node_.release(keys, claim.id, stamp, limit); };
  const Result<Repeated<bool>> ended = co_await persist<bool>(runtime(), attempt, limit);
  if (!ended) co_return ended.failure();
  waiters_.wake(keys.word);
  // Nothing there the second time: the first attempt may have ended it.
  co_return ended->value || ended->repeated;
}

// ---- Showing and breaking ----------------------------------------------------------------------

Task<Result<LockInfo>> MemcachedEngine::inspect(const Name& name, Deadline deadline) {
  const Keys keys = keys_of(name);
  const Deadline limit = deadlines_.request(deadline);
  const Result<Sight> seen = co_await node_.look_for_token(keys, limit);
  if (!seen) co_return unreachable_instead_of_unknown(seen.failure());
  LockInfo info{.name = name};
  if (seen->present) info.holders.push_back(holder_info(*seen, runtime().wall()));
  if (seen->word) info.last_token = seen->word->token;
  if (info.last_token == Token()) {
    const Result<Token> last = co_await node_.last_token(keys, limit);
    if (!last) co_return unreachable_instead_of_unknown(last.failure());
    info.last_token = *last;
  }
  co_return info;
}

Task<Result<std::vector<LockInfo>>> MemcachedEngine::list(const std::string& prefix,
                                                          Deadline deadline) {
  const Deadline limit = deadlines_.request(deadline);
  const Result<std::vector<Sight>> words = co_await node_.list(settings_.prefix, prefix, limit);
  if (!words) co_return unreachable_instead_of_unknown(words.failure());
  std::vector<LockInfo> all;
  for (const Sight& seen : *words) {
    const Name name(seen.word->name);
    LockInfo info{.name = name, .last_token = seen.word->token};
    info.holders.push_back(holder_info(seen, runtime().wall()));
    if (seen.word->token == Token()) {  // It will be recorded soon.
      Result<LockInfo> again = co_await inspect(name, limit);
      if (!again) co_return again.failure();
      if (again->holders.empty()) continue;
      info = std::move(again).value();
    }
    all.push_back(std::move(info));
  }
  const auto by_name = [](const LockInfo& a, const LockInfo& b) { return a.name < b.name; };
  std::sort(all.begin(), all.end(), by_name);
  co_return all;
}

Task<Result<void>> MemcachedEngine::evict(const Name& name, Token token, Deadline deadline) {
  const Keys keys = keys_of(name);
  const Deadline limit = deadlines_.request(deadline);
  const auto attempt = [&] { return node_.evict(keys, token, limit); };
  const Result<Repeated<bool>> ended = co_await persist<bool>(runtime(), attempt, limit);
  if (!ended) co_return ended.failure();
  waiters_.wake(keys.word);
  if (ended->value || ended->repeated) co_return Result<void>();
  co_return not_held_with(name, token);
}

}  // namespace

Guarantees memcached_guarantees() {
  return Guarantees{
      .engine = "memcached",
      .recipe = "single server",
      .exclusion = Exclusion::best_effort,
      .token = TokenStrength::volatile_memory,
      .wake_up = WakeUp::poll,
      .fairness = Fairness::none,
      .shared_mode = false,
      .permit_mode = false,
      .no_records_because = "a cache forgets; use an engine that keeps its data",
      .min_ttl = std::chrono::seconds(2),
      .notes =
          "A cache: memcached forgets a lock without a word when it is restarted, flushed, or "
          "short "
          "of memory, and another client can then take it. Its ttls follow its monotonic clock. "
          "Tokens are seeded by the clients' clocks when the counter was forgotten as well."};
}

Result<std::unique_ptr<Engine>> open_memcached_engine(const Url& url, Runtime& runtime,
                                                      const ClientOptions& options) {
  const Result<memcached::Settings> settings = memcached::settings_from(url, options);
  if (!settings) return settings.failure();
  return std::unique_ptr<Engine>(std::make_unique<MemcachedEngine>(*settings, runtime));
}

}  // namespace holdfast::internal
