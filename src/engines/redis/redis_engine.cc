#include "engines/redis/redis_engine.h"

#include <algorithm>
#include <map>

#include "engines/redis/lock_view.h"
#include "engines/redis/servers.h"
#include "engines/redis/settings.h"

namespace holdfast::internal {

namespace {

using redis::Answer;
using redis::Invocation;
using redis::Keys;
using redis::Node;
using redis::Reply;
using redis::Route;
using redis::Script;
using redis::Servers;

const char* letter_of(Mode mode) {
  return mode == Mode::exclusive ? "x" : mode == Mode::shared ? "s" : "p";
}

std::int64_t milliseconds_of(Duration span) {
  return std::chrono::ceil<std::chrono::milliseconds>(span).count();
}

Failure cancelled() { return Failure(Code::cancelled, "cancelled by the caller"); }

class RedisEngine final : public Engine {
 public:
  RedisEngine(redis::Settings settings, Runtime& runtime, const ClientOptions& options);

  const Guarantees& guarantees() const override { return guarantees_; }
  Task<Result<Grant>> acquire(const Claim& claim, const Wait& wait) override;
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline) override;
  Task<Result<bool>> release(const Claim& claim, Deadline deadline) override;
  // Nothing here ends with the process.
  Task<Result<void>> detach(const Hold&, Deadline) override { co_return Result<void>(); }
  Task<Result<std::vector<LockInfo>>> list(const std::string& prefix, Deadline deadline) override;
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override;
  Task<Result<void>> evict(const Name& name, Token token, Deadline deadline) override;
  Task<void> close() override;

 private:
  // What the server said, and which one.
  struct Performed {
    Answer answer;
    Node* node = nullptr;
    bool repeated = false;  // an earlier attempt may have been executed
  };
  // What the acquire script said.
  struct Asked {
    std::optional<Grant> grant;
    Busy busy;
    bool foreign = false;
    Node* node = nullptr;
  };
  using Waiter = std::optional<Node::Waiter>;

  Deadline request_deadline(Deadline limit) const {
    return limit.sooner(runtime().now() + settings_.request_timeout);
  }
  // A question that is asked shortly before the wait is over, or by one who does not wait at all,
  // should still be answered.
  Deadline answer_deadline(const Wait& wait) const {
    constexpr Duration kGrace = std::chrono::milliseconds(250);
    return request_deadline(wait.deadline.later(runtime().now() + kGrace));
  }
  Keys keys_of(const Name& name) const { return Keys(settings_.prefix + name.bytes()); }
  static std::string queue_tail(const Claim& claim, const Node& node);

  // Runs a script at the server that answers for `keys`, again where that can help: every one of
  // ours may be repeated. `invocation_for(node)` is called right before each attempt; with `hear`
  // the node is listened to by then.
  template <class F>
  Task<Result<Performed>> perform(const Keys& keys, F invocation_for, bool hear, Deadline deadline,
                                  std::stop_token stop = {});

  // With a waiter the claim is queued, and the waiter stands at the node that has it.
  Task<Result<Asked>> ask(const Claim& claim, const Keys& keys, Waiter* waiter, Deadline deadline,
                          std::stop_token stop);
  Result<Asked> read_answer(const Claim& claim, const Performed& performed) const;
  Task<Result<Grant>> wait_in_line(const Claim& claim, const Keys& keys, const Wait& wait);
  // Ends what the claim has, and says why.
  Task<Result<Grant>> leave(const Claim& claim, Failure why);
  // Whether the replicas have it that must.
  Task<Result<void>> replicated(Node& node, Deadline deadline);
  Task<Result<Grant>> granted(const Claim& claim, Grant grant, Node& node);
  Task<Result<Grant>> renew_one(const Hold& hold, Deadline deadline);
  Result<Grant> renewal(const Hold& hold, const Result<Answer>& answer) const;
  void check_memory(const std::string& info);

  redis::Settings settings_;
  Guarantees guarantees_;
  std::shared_ptr<Observer> observer_;
  bool warned_ = false;
  Script acquire_{redis::acquire_source(), {}};
  Script release_{redis::release_source(), {}};
  Script renew_{redis::renew_source(), {}};
  Script evict_{redis::evict_source(), {}};
  Script inspect_{redis::inspect_source(), {}};
  std::unique_ptr<Servers> servers_;
};

RedisEngine::RedisEngine(redis::Settings settings, Runtime& runtime, const ClientOptions& options)
    : Engine(runtime), settings_(std::move(settings)), observer_(options.observer) {
  redis::ServersSettings servers{
      .connection = settings_.connection,
      .request_timeout = settings_.request_timeout,
      .on_info = [this](const std::string& info) { check_memory(info); }};
  switch (settings_.layout) {
    case redis::Layout::single:
      guarantees_ = redis_guarantees();
      servers_ = redis::single_server(runtime, servers, settings_.endpoints.front());
      break;
    case redis::Layout::sentinel:
      guarantees_ = redis_sentinel_guarantees();
      servers_ = redis::sentinel_servers(runtime, servers, settings_.endpoints,
                                         settings_.sentinel_login, settings_.master);
      break;
    case redis::Layout::cluster:
      guarantees_ = redis_cluster_guarantees();
      servers_ = redis::cluster_servers(runtime, servers, settings_.endpoints);
      break;
  }
}

// ---- Asking ------------------------------------------------------------------------------------

template <class F>
Task<Result<RedisEngine::Performed>> RedisEngine::perform(const Keys& keys, F invocation_for,
                                                          bool hear, Deadline deadline,
                                                          std::stop_token stop) {
  constexpr Duration kShortest = std::chrono::milliseconds(5);
  constexpr Duration kLongest = std::chrono::milliseconds(200);
  const std::uint16_t slot =
      settings_.layout == redis::Layout::cluster ? redis::slot_of(keys.all.front()) : 0;
  Route route;
  bool repeated = false;
  for (Duration pause = kShortest;; pause = std::min(pause * 2, kLongest)) {
    Failure failure(Code::unreachable, {});
    auto advice = Servers::Advice::soon;
    if (!route.node) route.node = servers_->known(slot);
    if (!route.node) {
      Result<Route> found = co_await servers_->find(slot, deadline);
      if (found) {
        route = *found;
      } else {
        failure = found.failure();
      }
    }
    if (route.node) {
      Node& node = *route.node;
      Result<void> ready;
      if (hear) ready = co_await node.listen(deadline, stop);
      Result<Answer> answer(Failure(Code::unreachable, {}));
      if (ready) {
        answer = co_await node.run(invocation_for(node), route.asking, deadline, stop);
      } else {
        answer = ready.failure();
      }
      if (answer && !answer->reply.is_error()) {
        co_return Performed{std::move(*answer), &node, repeated};
      }
      if (answer) {
        failure = redis::failure_of(answer->reply, node.endpoint());
        advice = co_await servers_->after_error(answer->reply, route, deadline);
      } else {
        failure = answer.failure();
        servers_->suspect(node);
        route = Route{};
      }
    }
    if (failure.code() == Code::unknown) {
      repeated = true;
    } else if (failure.code() != Code::unreachable ||
               (advice == Servers::Advice::soon && !route.node && !servers_->fails_over())) {
      advice = Servers::Advice::give_up;
    }
    const BootTime now = runtime().now();
    const BootTime again = now + runtime().jitter(pause, 0.5);
    if (advice == Servers::Advice::give_up || deadline.passed(now) || stop.stop_requested() ||
        (!deadline.is_never() && again >= deadline.moment())) {
      if (!repeated || failure.code() == Code::unknown) co_return failure;
      co_return Failure(Code::unknown, failure.message());
    }
    if (advice == Servers::Advice::soon) {
      static_cast<void>(co_await sleep_until(runtime(), again, stop));
    }
  }
}

std::string RedisEngine::queue_tail(const Claim& claim, const Node& node) {
  return std::string(letter_of(claim.mode)) + ' ' + std::to_string(claim.permits) + ' ' +
         std::to_string(milliseconds_of(claim.ttl)) + ' ' + node.channel() + ' ' + claim.label;
}

Task<Result<RedisEngine::Asked>> RedisEngine::ask(const Claim& claim, const Keys& keys,
                                                  Waiter* waiter, Deadline deadline,
                                                  std::stop_token stop) {
  const auto invocation_for = [&](Node& node) {
    // Before the request leaves: the push can be faster than the reply.
    if (waiter && (!*waiter || &(*waiter)->node() != &node)) {
      waiter->emplace(node, claim, keys.all.front());
    }
    return Invocation{&acquire_,
                      &keys,
                      {claim.id.hex() + ' ' + claim.label,
                       std::to_string(milliseconds_of(claim.ttl)), letter_of(claim.mode),
                       std::to_string(claim.permits), waiter ? "1" : "0", queue_tail(claim, node)}};
  };
  const Result<Performed> performed =
      co_await perform(keys, invocation_for, waiter != nullptr, deadline, std::move(stop));
  if (!performed) co_return performed.failure();
  co_return read_answer(claim, *performed);
}

Result<RedisEngine::Asked> RedisEngine::read_answer(const Claim& claim,
                                                    const Performed& performed) const {
  const Reply& reply = performed.answer.reply;
  Asked asked{.node = performed.node};
  if (reply.kind == Reply::Kind::integer && reply.number > 0) {
    const Token token(static_cast<std::uint64_t>(reply.number));
    asked.grant = Grant{token, performed.answer.sent_at, claim.ttl};
    return asked;
  }
  if (reply.items.size() == 2) {
    return Failure(Code::invalid_argument, "'" + claim.name.display() + "' is a semaphore of " +
                                               reply.at(1).text + " permits, not of " +
                                               std::to_string(claim.permits) +
                                               "; all its users must agree");
  }
  if (reply.items.size() != 6) {
    return Failure(Code::unreachable, "Redis at " + performed.node->endpoint().display() +
                                          ": an answer that makes no sense");
  }
  const std::string& word = reply.at(2).text;
  const std::optional<redis::WordOwner> owner = redis::owner_of(word);
  asked.foreign = reply.at(5).as_number() == 1;
  if (!asked.foreign) asked.busy.token = static_cast<std::uint64_t>(reply.at(1).as_number());
  asked.busy.holder = owner           ? owner->label
                      : asked.foreign ? redis::kForeignLabel
                                      : word.substr(redis::kGroupWord.size());
  if (reply.at(3).as_number() >= 0) {
    asked.busy.expires_in = std::chrono::milliseconds(reply.at(3).as_number());
  }
  asked.busy.rank = static_cast<std::uint64_t>(reply.at(4).as_number());
  return asked;
}

// ---- Acquiring ---------------------------------------------------------------------------------

Task<Result<Grant>> RedisEngine::acquire(const Claim& claim, const Wait& wait) {
  const Keys keys = keys_of(claim.name);
  if (redis::looks_like_sibling(keys.all.front())) {
    co_return Failure(Code::invalid_argument,
                      "the name '" + claim.name.display() + "' is kept for keys of Holdfast's own");
  }
  // Who hears already asks once, and stands in the line if need be. Who does not, tries first:
  // most locks are free.
  Node* known = servers_->known(
      settings_.layout == redis::Layout::cluster ? redis::slot_of(keys.all.front()) : 0);
  if (!wait.queue || !known || !known->listening()) {
    if (wait.stop.stop_requested()) co_return cancelled();
    Result<Asked> asked = co_await ask(claim, keys, nullptr, answer_deadline(wait), wait.stop);
    if (!asked && wait.stop.stop_requested()) co_return co_await leave(claim, cancelled());
    if (!asked) co_return asked.failure();
    if (asked->grant) co_return co_await granted(claim, *asked->grant, *asked->node);
    if (!wait.queue) co_return Failure::busy(std::move(asked->busy));
  }
  co_return co_await wait_in_line(claim, keys, wait);
}

Task<Result<Grant>> RedisEngine::wait_in_line(const Claim& claim, const Keys& keys,
                                              const Wait& wait) {
  constexpr Duration kLookAgain = std::chrono::seconds(5);
  constexpr Duration kStagger = std::chrono::milliseconds(3);
  constexpr Duration kForeignPoll = std::chrono::milliseconds(20);
  constexpr Duration kForeignLook = std::chrono::milliseconds(500);
  // Who stands in the line outlasts a server that is being restarted.
  constexpr Duration kPatience = std::chrono::seconds(30);
  Waiter self;
  bool in_line = false;
  BootTime last_answer = runtime().now();
  for (;;) {
    const Deadline limit = answer_deadline(wait);
    Result<Asked> asked = co_await ask(claim, keys, &self, limit, wait.stop);
    const BootTime now = runtime().now();
    Busy busy;
    BootTime look_at = now + runtime().jitter(kLookAgain);
    if (asked) {
      in_line = true;
      last_answer = now;
      if (asked->grant) co_return co_await granted(claim, *asked->grant, *asked->node);
      busy = std::move(asked->busy);
      if (busy.expires_in) {
        // The head first, or all would ask at the same moment.
        const auto turn = static_cast<Duration::rep>(std::min<std::uint64_t>(busy.rank, 1000)) + 1;
        look_at = std::min(look_at, now + *busy.expires_in + turn * kStagger);
      }
      // Clients of another kind tell nobody when they release.
      if (asked->foreign && busy.rank == 0) {
        const bool watched = co_await asked->node->watch_key(keys.all.front(), limit);
        look_at = std::min(look_at, now + runtime().jitter(watched ? kForeignLook : kForeignPoll));
      }
    } else {
      const bool passing = asked.code() == Code::unreachable || asked.code() == Code::unknown;
      if (wait.stop.stop_requested()) co_return co_await leave(claim, cancelled());
      if (!in_line || !passing || now - last_answer > kPatience ||
          wait.deadline.passed(runtime().now())) {
        co_return co_await leave(claim, asked.failure());
      }
      look_at = now + runtime().jitter(std::chrono::milliseconds(100));
    }
    const Woken woken = co_await self->told.wait(wait.deadline.sooner(look_at), wait.stop);
    self->told.reset();
    if (self->grant) {
      const Grant grant = *std::exchange(self->grant, std::nullopt);
      // One that is half over, or that the replicas must have: ask again, which renews it.
      const bool fresh = runtime().now() < grant.counted_from + grant.ttl / 2;
      if (fresh && settings_.wait_replicas == 0) co_return grant;
    } else if (woken == Woken::cancelled) {
      co_return co_await leave(claim, cancelled());
    } else if (wait.deadline.passed(runtime().now())) {
      co_return co_await leave(claim, Failure::busy(std::move(busy)));
    }
  }
}

Task<Result<Grant>> RedisEngine::leave(const Claim& claim, Failure why) {
  const Result<bool> left = co_await release(claim, request_deadline(Deadline::never()));
  if (!left) {
    co_return Failure(Code::unknown,
                      why.message() + "; and the claim could not be taken back: " + left.message());
  }
  // It is known now: nothing is held.
  if (why.code() == Code::unknown) co_return Failure(Code::unreachable, why.message());
  co_return why;
}

Task<Result<void>> RedisEngine::replicated(Node& node, Deadline deadline) {
  if (settings_.wait_replicas == 0) co_return Result<void>();
  const auto patience = std::min<Duration>(settings_.request_timeout / 2, std::chrono::seconds(1));
  const std::string count = std::to_string(settings_.wait_replicas);
  const std::string milliseconds = std::to_string(milliseconds_of(patience));
  std::string command = redis::encode({"WAIT", count, milliseconds});
  const Result<Answer> answer = co_await node.connection().call(std::move(command), deadline);
  if (!answer) co_return answer.failure();
  if (answer->reply.is_error()) co_return redis::failure_of(answer->reply, node.endpoint());
  if (answer->reply.as_number() >= settings_.wait_replicas) co_return Result<void>();
  co_return Failure(Code::unreachable, "Redis at " + node.endpoint().display() + ": only " +
                                           std::to_string(answer->reply.as_number()) + " of " +
                                           count + " replicas (wait_replicas) confirmed it");
}

Task<Result<Grant>> RedisEngine::granted(const Claim& claim, Grant grant, Node& node) {
  if (settings_.wait_replicas == 0) co_return grant;
  const Deadline deadline = request_deadline(Deadline::never());
  const Result<void> confirmed = co_await replicated(node, deadline);
  if (confirmed) co_return grant;
  co_return co_await leave(claim, confirmed.failure());
}

// ---- Keeping and giving back -------------------------------------------------------------------

Result<Grant> RedisEngine::renewal(const Hold& hold, const Result<Answer>& answer) const {
  if (!answer) return answer.failure();
  if (answer->reply.as_number() == 1) return Grant{hold.token, answer->sent_at, hold.claim.ttl};
  return Failure(Code::not_held, "the lock '" + hold.claim.name.display() +
                                     "' is not held by this claim any more: it expired, was "
                                     "released, or was taken away");
}

Task<Result<Grant>> RedisEngine::renew_one(const Hold& hold, Deadline deadline) {
  const Keys keys = keys_of(hold.claim.name);
  const auto invocation_for = [&](Node&) {
    return Invocation{
        &renew_, &keys, {hold.claim.id.hex(), std::to_string(milliseconds_of(hold.claim.ttl))}};
  };
  Result<Performed> performed = co_await perform(keys, invocation_for, false, deadline);
  if (!performed) co_return performed.failure();
  const Result<void> confirmed = co_await replicated(*performed->node, deadline);
  if (!confirmed) co_return confirmed.failure();
  co_return renewal(hold, performed->answer);
}

Task<std::vector<Result<Grant>>> RedisEngine::renew(std::span<const Hold> holds,
                                                    Deadline deadline) {
  const Deadline limit = request_deadline(deadline);
  std::vector<Result<Grant>> outcomes;
  if (holds.size() == 1) {
    outcomes.push_back(co_await renew_one(holds.front(), limit));
    co_return outcomes;
  }
  std::vector<Keys> keys;
  keys.reserve(holds.size());
  std::map<Node*, std::vector<std::size_t>> batches;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    keys.push_back(keys_of(holds[i].claim.name));
    const std::uint16_t slot =
        settings_.layout == redis::Layout::cluster ? redis::slot_of(keys.back().all.front()) : 0;
    batches[servers_->known(slot)].push_back(i);
    outcomes.emplace_back(Failure(Code::unreachable, {}));
  }
  std::vector<std::size_t> alone = std::move(batches[nullptr]);  // nobody knows where they are
  batches.erase(nullptr);
  for (auto& [node, batch] : batches) {
    std::vector<Invocation> invocations;
    invocations.reserve(batch.size());
    for (const std::size_t i : batch) {
      invocations.push_back(
          {&renew_,
           &keys[i],
           {holds[i].claim.id.hex(), std::to_string(milliseconds_of(holds[i].claim.ttl))}});
    }
    const std::vector<Result<Answer>> answers = co_await node->run_all(invocations, limit);
    const Result<void> confirmed = co_await replicated(*node, limit);
    for (std::size_t place = 0; place < batch.size(); ++place) {
      const std::size_t i = batch[place];
      if (answers[place] && answers[place]->reply.is_error()) {
        alone.push_back(i);  // moved, perhaps
      } else {
        outcomes[i] = confirmed ? renewal(holds[i], answers[place]) : confirmed.failure();
      }
    }
  }
  for (const std::size_t i : alone) outcomes[i] = co_await renew_one(holds[i], limit);
  co_return outcomes;
}

Task<Result<bool>> RedisEngine::release(const Claim& claim, Deadline deadline) {
  const Keys keys = keys_of(claim.name);
  const auto invocation_for = [&](Node& node) {
    return Invocation{&release_, &keys, {claim.id.hex(), queue_tail(claim, node)}};
  };
  const Result<Performed> performed =
      co_await perform(keys, invocation_for, false, request_deadline(deadline));
  if (!performed) co_return performed.failure();
  // Nothing there the second time: the first attempt may have ended it.
  co_return performed->answer.reply.as_number() == 1 || performed->repeated;
}

// ---- Showing and breaking ----------------------------------------------------------------------

Task<Result<void>> RedisEngine::evict(const Name& name, Token token, Deadline deadline) {
  const Keys keys = keys_of(name);
  const auto invocation_for = [&](Node&) { return Invocation{&evict_, &keys, {token.str()}}; };
  const Result<Performed> performed =
      co_await perform(keys, invocation_for, false, request_deadline(deadline));
  if (!performed) co_return performed.failure();
  if (performed->answer.reply.as_number() == 1) co_return Result<void>();
  co_return Failure(Code::not_held, "'" + name.display() + "' is not held with token " +
                                        token.str() + "; nothing was changed");
}

Task<Result<LockInfo>> RedisEngine::inspect(const Name& name, Deadline deadline) {
  const Keys keys = keys_of(name);
  const auto invocation_for = [&](Node&) { return Invocation{&inspect_, &keys, {}}; };
  const Result<Performed> performed =
      co_await perform(keys, invocation_for, false, request_deadline(deadline));
  if (!performed && performed.code() == Code::unknown) {  // Looking leaves nothing behind.
    co_return Failure(Code::unreachable, performed.message());
  }
  if (!performed) co_return performed.failure();
  co_return redis::lock_info(name, performed->answer.reply);
}

Task<Result<std::vector<LockInfo>>> RedisEngine::list(const std::string& prefix,
                                                      Deadline deadline) {
  const Result<std::vector<Node*>> nodes = co_await servers_->all(request_deadline(deadline));
  if (!nodes) co_return nodes.failure();
  const std::string wanted = settings_.prefix + prefix;
  std::vector<LockInfo> all;
  for (Node* node : *nodes) {
    std::string cursor = "0";
    do {
      std::string command =
          redis::encode({"SCAN", cursor, "MATCH", redis::kTokenKeyPattern, "COUNT", "1000"});
      const Result<Answer> answer =
          co_await node->connection().call(std::move(command), request_deadline(deadline));
      if (!answer) co_return Failure(Code::unreachable, answer.message());
      if (answer->reply.is_error()) co_return redis::failure_of(answer->reply, node->endpoint());
      cursor = answer->reply.at(0).text;
      std::vector<Keys> keys;
      for (const Reply& key : answer->reply.at(1).items) {
        const std::optional<std::string> name = redis::name_of_token_key(key.text);
        if (!name || !name->starts_with(wanted)) continue;
        if (!Name::problem_with(name->substr(settings_.prefix.size()))) keys.emplace_back(*name);
      }
      std::vector<Invocation> looks;
      looks.reserve(keys.size());
      for (const Keys& key : keys) looks.push_back({&inspect_, &key, {}});
      const std::vector<Result<Answer>> seen =
          co_await node->run_all(looks, request_deadline(deadline));
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (!seen[i]) co_return Failure(Code::unreachable, seen[i].message());
        if (seen[i]->reply.is_error()) continue;  // moved away meanwhile, or of another type
        const Name name(keys[i].all.front().substr(settings_.prefix.size()));
        LockInfo info = redis::lock_info(name, seen[i]->reply);
        if (!info.holders.empty() || !info.waiters.empty()) all.push_back(std::move(info));
      }
    } while (cursor != "0");
  }
  const auto by_name = [](const LockInfo& a, const LockInfo& b) { return a.name < b.name; };
  const auto same = [](const LockInfo& a, const LockInfo& b) { return a.name == b.name; };
  std::sort(all.begin(), all.end(), by_name);
  all.erase(std::unique(all.begin(), all.end(), same), all.end());  // SCAN can show a key twice
  co_return all;
}

Task<void> RedisEngine::close() {
  servers_->stop();
  co_return;
}

// A server that may throw the lock away to save memory: that must be said.
void RedisEngine::check_memory(const std::string& info) {
  const auto value_of = [&](const std::string& field) {
    const std::size_t place = info.find("\n" + field + ":");
    if (place == std::string::npos) return std::string();
    const std::size_t begin = place + field.size() + 2;
    return info.substr(begin, info.find('\r', begin) - begin);
  };
  const std::string policy = value_of("maxmemory_policy");
  if (warned_ || policy.empty() || policy == "noeviction" || value_of("maxmemory") == "0") return;
  warned_ = true;
  if (!observer_) return;
  observer_->on_warning("this Redis may evict locks when its memory is full (maxmemory-policy " +
                        policy + "): two clients could then hold the same one. Set noeviction, " +
                        "or use a server of its own for locks");
}

}  // namespace

Guarantees redis_guarantees() {
  return Guarantees{
      .engine = "redis",
      .recipe = "single server",
      .exclusion = Exclusion::bounded_by_clocks,
      .token = TokenStrength::volatile_memory,
      .wake_up = WakeUp::push,
      .fairness = Fairness::fifo,
      .shared_mode = true,
      .permit_mode = true,
      .min_ttl = std::chrono::milliseconds(20),
      .notes =
          "A lock is lost if the server restarts without its data, evicts it, or has its "
          "clock set ahead. Tokens go on growing also then, unless the clock is set back."};
}

Guarantees redis_sentinel_guarantees() {
  Guarantees guarantees = redis_guarantees();
  guarantees.engine = "redis+sentinel";
  guarantees.recipe = "master with replicas";
  guarantees.exclusion = Exclusion::best_effort;
  guarantees.notes =
      "Replication is asynchronous: a failover can forget the newest locks "
      "(wait_replicas=N makes that rarer), and an old master that is cut off can go "
      "on granting. Tokens are seeded by the new master's clock.";
  return guarantees;
}

Guarantees redis_cluster_guarantees() {
  Guarantees guarantees = redis_sentinel_guarantees();
  guarantees.engine = "redis+cluster";
  guarantees.recipe = "the slot's master";
  return guarantees;
}

Result<std::unique_ptr<Engine>> open_redis_engine(const Url& url, Runtime& runtime,
                                                  const ClientOptions& options) {
  Result<redis::Settings> settings = redis::settings_from(url, options);
  if (!settings) return settings.failure();
  return std::unique_ptr<Engine>(
      std::make_unique<RedisEngine>(std::move(settings).value(), runtime, options));
}

}  // namespace holdfast::internal
