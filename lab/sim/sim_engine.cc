#include "lab/sim/sim_engine.h"

namespace holdfast::lab::sim {

using internal::SimRuntime;
using Answer = LockStore::Answer;

SimEngine::SimEngine(SimRuntime& node, SimServer& server, SimNetwork& network,
                     const ClientRules& rules, std::uint64_t first_session)
    : Engine(node),
      node_(node),
      server_(server),
      rules_(rules),
      guarantees_{.engine = "sim",
                  .recipe = "store",
                  .exclusion = Exclusion::bounded_by_clocks,
                  .token = TokenStrength::linearizable,
                  .wake_up = WakeUp::push,
                  .fairness = Fairness::roughly},
      session_(first_session),
      calls_(node, network, rules.request_timeout),
      background_(node) {}

template <class T>
Task<Result<SimCalls::Reply<T>>> SimEngine::call(std::function<T(LockStore&)> question,
                                                 Deadline deadline) {
  std::function<std::optional<T>()> at_server = [store = server_.store,
                                                 question = std::move(question), session = session_,
                                                 number = ++requests_]() -> std::optional<T> {
    if (!store->serving || !store->in_order(session, number)) return std::nullopt;
    return question(*store);
  };
  return calls_.call<T>(*server_.node, std::move(at_server), deadline);
}

Grant SimEngine::grant_of(Token token, BootTime sent_at, Duration ttl, bool from_reply) const {
  Grant grant{token, from_reply ? node_.now() : sent_at, ttl - rules_.margin};
  if (rules_.never_checks_time) grant.ttl = std::chrono::hours(1);
  return grant;
}

Task<Result<SimCalls::Reply<Answer>>> SimEngine::ask(const Claim& claim, bool queue,
                                                     LockStore::Push push) {
  const auto wall = node_.wall().time_since_epoch();
  LockStore::Ask question{
      .claim = claim.id,
      .ttl = claim.ttl,
      .queue = queue,
      .session = session_,
      .client_us = std::chrono::duration_cast<std::chrono::microseconds>(wall).count(),
      .push = std::move(push)};
  std::function<Answer(LockStore&)> at_store = [question](LockStore& store) {
    return store.acquire(question);
  };
  return call<Answer>(std::move(at_store), Deadline::never());
}

Task<Result<Grant>> SimEngine::acquire(const Claim& claim, const Wait& wait) {
  Event told(node_);
  waiting_[claim.id] = &told;
  struct Forget {
    SimEngine& engine;
    ClaimId id;
    ~Forget() { engine.waiting_.erase(id); }
  } const forget{*this, claim.id};
  const LockStore::Push push = calls_.push([this, id = claim.id] {
    const auto found = waiting_.find(id);
    if (found != waiting_.end()) found->second->set();
  });
  for (;;) {
    const auto reply = co_await ask(claim, wait.queue, push);
    if (!reply) co_return reply.failure();
    const BootTime counted_from = reply->sent_at;
    const Token token = reply->answer.token;
    if (reply->answer.kind == Answer::Kind::granted) {
      co_return grant_of(token, counted_from, claim.ttl, rules_.counts_from_reply);
    }
    if (reply->answer.kind == Answer::Kind::no_session) {
      // All that the session had is gone: another one.
      ++session_;
      doubt();
      if (!wait.deadline.passed(node_.now()) && !wait.stop.stop_requested()) continue;
    }
    Failure why = Failure::busy(Busy{});
    if (wait.queue && !wait.deadline.passed(node_.now())) {
      const BootTime ask_again = node_.now() + claim.ttl / 4;
      const Woken woken = co_await told.wait(wait.deadline.sooner(ask_again), wait.stop);
      told.reset();
      if (woken == Woken::signalled && rules_.trusts_watch) {
        co_return grant_of(token, counted_from, claim.ttl, false);
      }
      if (woken != Woken::cancelled && !wait.deadline.passed(node_.now())) continue;
      if (woken == Woken::cancelled) why = Failure(Code::cancelled, "cancelled");
    }
    const Result<bool> left = co_await release(claim, Deadline::never());
    if (!left) co_return left.failure();
    co_return why;
  }
}

Task<std::vector<Result<Grant>>> SimEngine::renew(std::span<const Hold> holds, Deadline deadline) {
  std::vector<Result<Grant>> outcomes;
  for (const Hold& hold : holds) {
    const ClaimId id = hold.claim.id;
    const Duration ttl = hold.claim.ttl;
    std::function<bool(LockStore&)> question = [=, session = session_](LockStore& store) {
      return store.renew(id, ttl, session);
    };
    const auto reply = co_await call<bool>(std::move(question), deadline);
    if (!reply) {
      outcomes.emplace_back(reply.failure());
    } else if (!reply->answer) {
      outcomes.emplace_back(Failure(Code::not_held, "not the holder"));
    } else {
      outcomes.emplace_back(
          grant_of(hold.token, reply->sent_at, ttl, rules_.counts_renewal_from_reply));
    }
  }
  co_return outcomes;
}

Task<Result<bool>> SimEngine::release_once(ClaimId claim, Deadline deadline) {
  std::function<bool(LockStore&)> question = [claim](LockStore& store) {
    return store.release(claim);
  };
  const auto reply = co_await call<bool>(std::move(question), deadline);
  if (!reply) co_return reply.failure();
  co_return reply->answer;
}

Task<void> SimEngine::release_until_answered(ClaimId claim) {
  const std::uint64_t session = session_;
  bool answered = false;
  while (!answered && session == session_) {
    const Result<bool> released = co_await release_once(claim, Deadline::never());
    answered = released.ok();
  }
}

Task<Result<bool>> SimEngine::release(const Claim& claim, Deadline deadline) {
  const Result<bool> released = co_await release_once(claim.id, deadline);
  if (!released && rules_.sessions) background_.spawn(release_until_answered(claim.id));
  co_return released;
}

namespace {
Failure not_simulated() { return Failure(Code::unsupported, "not simulated"); }
}  // namespace

Task<Result<void>> SimEngine::detach(const Hold&, Deadline) { co_return not_simulated(); }
Task<Result<std::vector<LockInfo>>> SimEngine::list(const std::string&, Deadline) {
  co_return not_simulated();
}
Task<Result<LockInfo>> SimEngine::inspect(const Name&, Deadline) { co_return not_simulated(); }
Task<Result<void>> SimEngine::evict(const Name&, Token, Deadline) { co_return not_simulated(); }

}  // namespace holdfast::lab::sim
