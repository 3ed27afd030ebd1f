#include "lab/sim/naive/naive_engine.h"

namespace holdfast::lab::sim {

NaiveEngine::NaiveEngine(internal::SimRuntime& node, internal::SimRuntime& server, PlainWord& word,
                         SimNetwork& network, Duration patience)
    : Engine(node),
      node_(node),
      server_(server),
      word_(word),
      guarantees_{.engine = "sim", .recipe = "naive"},
      calls_(node, network, patience) {}

Task<Result<Grant>> NaiveEngine::acquire(const Claim& claim, const Wait& wait) {
  for (;;) {
    const BootTime sent_at = node_.now();
    const Result<std::uint64_t> token = co_await attempt(claim);
    if (!token) co_return token.failure();
    if (*token != 0) co_return Grant{Token(*token), sent_at, claim.ttl};
    const BootTime again = node_.now() + node_.jitter(claim.ttl / 8);
    if (!wait.queue || wait.deadline.passed(again)) co_return Failure::busy(Busy{});
    if (co_await sleep_until(node_, again, wait.stop) == Woken::cancelled) {
      co_return Failure(Code::cancelled, "cancelled");
    }
  }
}

Task<std::vector<Result<Grant>>> NaiveEngine::renew(std::span<const Hold> holds, Deadline) {
  std::vector<Result<Grant>> outcomes;
  for (const Hold& hold : holds) {
    AtServer question = [is_owner = owns(hold.claim), prolong = extend(hold.claim)](
                            PlainWord& word) { return is_owner(word) && prolong(word); };
    const auto reply = co_await call<bool>(std::move(question));
    if (!reply) {
      outcomes.emplace_back(reply.failure());
    } else if (!reply->answer) {
      outcomes.emplace_back(Failure(Code::not_held, "not the holder"));
    } else {
      outcomes.emplace_back(Grant{hold.token, reply->sent_at, hold.claim.ttl});
    }
  }
  co_return outcomes;
}

Task<Result<bool>> NaiveEngine::release(const Claim& claim, Deadline) {
  AtServer question = [is_owner = owns(claim)](PlainWord& word) {
    return is_owner(word) && word.del();
  };
  const auto reply = co_await call<bool>(std::move(question));
  if (!reply) co_return reply.failure();
  co_return reply->answer;
}

namespace {

// SETNX, then EXPIRE: who dies between the two leaves a lock for ever.
class SetNxExpire final : public NaiveEngine {
 public:
  using NaiveEngine::NaiveEngine;

 private:
  Task<Result<std::uint64_t>> attempt(Claim claim) override {
    std::function<std::uint64_t(PlainWord&)> set = [claim](PlainWord& word) -> std::uint64_t {
      return word.set_nx(claim.id.hex()) ? word.incr() : 0;
    };
    const auto token = co_await call<std::uint64_t>(std::move(set));
    if (!token) co_return token.failure();
    if (token->answer == 0) co_return 0;
    std::function<bool(PlainWord&)> expire = [claim](PlainWord& word) {
      return word.expire(claim.ttl);
    };
    const auto expires = co_await call<bool>(std::move(expire));
    if (!expires) co_return expires.failure();
    co_return token->answer;
  }
  AtServer owns(const Claim& claim) const override {
    return [id = claim.id.hex()](PlainWord& word) { return word.get() == id; };
  }
  AtServer extend(const Claim& claim) const override {
    return [ttl = claim.ttl](PlainWord& word) { return word.expire(ttl); };
  }
};

// SETNX with the time at which the lock ends, by the client's wall clock. A client that finds that
// time in the past takes the lock with GETSET, and has it if the value it replaced was past as well.
class SetNxGetSet final : public NaiveEngine {
 public:
  using NaiveEngine::NaiveEngine;

 private:
  using Word = std::optional<std::string>;

  std::int64_t wall_us() const {
    const auto wall = node_.wall().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(wall).count();
  }
  std::string stamp(const Claim& claim) const {
    const auto ttl = std::chrono::duration_cast<std::chrono::microseconds>(claim.ttl).count();
    return std::to_string(wall_us() + ttl) + ' ' + claim.id.hex();
  }
  bool passed(const Word& word) const { return !word || std::stoll(*word) < wall_us(); }

  Task<Result<std::uint64_t>> attempt(Claim claim) override {
    std::function<std::uint64_t(PlainWord&)> set = [mine = stamp(claim)](PlainWord& word) {
      return word.set_nx(mine) ? word.incr() : 0;
    };
    const auto token = co_await call<std::uint64_t>(std::move(set));
    if (!token) co_return token.failure();
    if (token->answer != 0) co_return token->answer;
    std::function<Word(PlainWord&)> get = [](PlainWord& word) { return word.get(); };
    const auto seen = co_await call<Word>(std::move(get));
    if (!seen) co_return seen.failure();
    if (!passed(seen->answer)) co_return 0;
    using Old = std::pair<Word, std::uint64_t>;
    std::function<Old(PlainWord&)> swap = [mine = stamp(claim)](PlainWord& word) {
      Word old = word.get_set(mine);
      return Old{std::move(old), word.incr()};
    };
    const auto old = co_await call<Old>(std::move(swap));
    if (!old) co_return old.failure();
    co_return passed(old->answer.first) ? old->answer.second : 0;
  }
  AtServer owns(const Claim& claim) const override {
    return [id = claim.id.hex()](PlainWord& word) {
      const Word now = word.get();
      return now && now->ends_with(id);
    };
  }
  AtServer extend(const Claim& claim) const override {
    return [mine = stamp(claim)](PlainWord& word) {
      word.get_set(mine);
      return true;
    };
  }
};

}  // namespace

std::unique_ptr<NaiveEngine> make_naive_engine(NaiveRecipe recipe, internal::SimRuntime& node,
                                               internal::SimRuntime& server, PlainWord& word,
                                               SimNetwork& network, Duration patience) {
  if (recipe == NaiveRecipe::set_nx_expire) {
    return std::make_unique<SetNxExpire>(node, server, word, network, patience);
  }
  return std::make_unique<SetNxGetSet>(node, server, word, network, patience);
}

}  // namespace holdfast::lab::sim
