#include "lab/sim_engine.h"

#include <any>

namespace holdfast::lab {

using internal::SimRuntime;

SimEngine::SimEngine(SimRuntime& node, SimRuntime& store_node, SimStore& store, SimNetwork& network,
                     Duration request_timeout)
    : Engine(node),
      node_(node),
      store_node_(store_node),
      store_(store),
      network_(network),
      request_timeout_(request_timeout),
      guarantees_{.engine = "sim",
                  .recipe = "store",
                  .exclusion = Exclusion::bounded_by_clocks,
                  .token = TokenStrength::linearizable,
                  .wake_up = WakeUp::push,
                  .fairness = Fairness::roughly},
      self_(std::make_shared<SimEngine*>(this)) {}

SimEngine::~SimEngine() { *self_ = nullptr; }

template <class T>
Task<Result<SimEngine::Reply<T>>> SimEngine::call(std::function<T(SimStore&)> question,
                                                  Deadline deadline) {
  const BootTime sent_at = node_.now();
  const std::uint64_t id = next_call_++;
  Event answered(node_);
  std::optional<T> answer;
  calls_[id] = [&](std::any value) {
    if (!answer) answer = std::any_cast<T>(std::move(value));
    answered.set();
  };
  const auto ask = [store = &store_, self = self_, question, id] {
    T value = question(*store);
    SimEngine* engine = *self;
    if (!engine) return;  // The asker has crashed; the server did its work all the same.
    engine->network_.send(engine->node_, [self, id, value] {
      if (!*self) return;
      const auto place = (*self)->calls_.find(id);
      if (place != (*self)->calls_.end()) place->second(value);
    });
  };
  if (connected_) network_.send(store_node_, ask);
  const Deadline patience = deadline.sooner(sent_at + request_timeout_);
  co_await answered.wait(patience);
  calls_.erase(id);
  if (!answer) co_return Failure(Code::unknown, "no answer from the simulated server");
  Reply<T> reply{*answer, sent_at};
  co_return reply;
}

Task<Result<Grant>> SimEngine::acquire(const Claim& claim, const Wait& wait) {
  Event told(node_);
  waiting_[claim.id] = &told;
  struct Forget {
    SimEngine& engine;
    ClaimId id;
    ~Forget() { engine.waiting_.erase(id); }
  } const forget{*this, claim.id};

  const ClaimId id = claim.id;
  const Duration ttl = claim.ttl;
  const bool queue = wait.queue;
  const SimStore::Push push = [self = self_, id] {
    if (!*self) return;
    (*self)->network_.send((*self)->node_, [self, id] {
      if (!*self) return;
      const auto place = (*self)->waiting_.find(id);
      if (place != (*self)->waiting_.end()) place->second->set();
    });
  };
  const std::function<std::optional<Token>(SimStore&)> question = [=](SimStore& store) {
    return store.acquire(id, ttl, queue, push);
  };
  for (;;) {
    const auto reply = co_await call<std::optional<Token>>(question, Deadline::never());
    if (!reply) co_return reply.failure();
    const BootTime counted_from = reply->sent_at;
    if (reply->answer) co_return Grant{*reply->answer, counted_from, claim.ttl};
    Failure why = Failure::busy(Busy{});
    if (queue && !wait.deadline.passed(node_.now())) {
      const BootTime ask_again = node_.now() + claim.ttl / 4;
      const Woken woken = co_await told.wait(wait.deadline.sooner(ask_again), wait.stop);
      told.reset();
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
    const std::function<bool(SimStore&)> question = [=](SimStore& store) {
      return store.renew(id, ttl);
    };
    const auto reply = co_await call<bool>(question, deadline);
    if (!reply) {
      outcomes.emplace_back(reply.failure());
    } else if (!reply->answer) {
      outcomes.emplace_back(Failure(Code::not_held, "not the holder"));
    } else {
      outcomes.emplace_back(Grant{hold.token, reply->sent_at, ttl});
    }
  }
  co_return outcomes;
}

Task<Result<bool>> SimEngine::release(const Claim& claim, Deadline deadline) {
  const ClaimId id = claim.id;
  const std::function<bool(SimStore&)> question = [=](SimStore& store) {
    return store.release(id);
  };
  const auto reply = co_await call<bool>(question, deadline);
  if (!reply) co_return reply.failure();
  co_return reply->answer;
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

}  // namespace holdfast::lab
