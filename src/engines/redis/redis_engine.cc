#include "engines/redis/redis_engine.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "base/unreachable_instead_of_unknown.h"
#include "engines/kit/contention_history.h"
#include "engines/kit/deadlines.h"
#include "engines/kit/expiry_look.h"
#include "engines/kit/failures.h"
#include "engines/kit/patience.h"
#include "engines/kit/withdrawal.h"
#include "engines/redis/command_executor.h"
#include "engines/redis/examiner.h"
#include "engines/redis/lock_list.h"
#include "engines/redis/lock_view.h"
#include "engines/redis/records.h"
#include "engines/redis/renewals.h"

namespace holdfast::internal {

namespace {

using redis::Answer;
using redis::Invocation;
using redis::Keys;
using redis::milliseconds_of;
using redis::Node;
using redis::Reply;
using redis::Script;
using redis::Words;
using Performed = redis::CommandExecutor::Performed;

const char* letter_of(Mode mode) {
  return mode == Mode::exclusive ? "x" : mode == Mode::shared ? "s" : "p";
}

// Not the first attempt of its call: it may have waited before, under another id.
bool asks_again(const Claim& claim) { return claim.id != claim.call && claim.since != BootTime(); }

class RedisEngine final : public Engine {
 public:
  RedisEngine(const redis::Settings& settings, Runtime& runtime, const ClientOptions& options);

  const Guarantees& guarantees() const override { return examiner_.guarantees(); }
  Task<Result<Examination>> examine(Deadline deadline) override {
    return examiner_.examine(runtime(), executor_.servers(), request_deadline(deadline));
  }
  Task<Result<Grant>> acquire(const Claim& claim, const Wait& wait) override;
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline) override {
    return renewals_.renew(holds, request_deadline(deadline));
  }
  Task<Result<bool>> release(const Claim& claim, Deadline deadline) override;
  Task<Result<void>> detach(const Hold& hold, Deadline) override {
    queued_.erase(hold.claim.id);
    co_return Result<void>();  // Nothing here ends with the process.
  }
  Task<Result<std::vector<LockInfo>>> list(const std::string& prefix, Deadline deadline) override {
    return redis::list_locks(executor_, inspect_, prefix, request_deadline(deadline));
  }
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override;
  Task<Result<void>> evict(const Name& name, Token token, Deadline deadline) override;
  Task<Result<std::optional<std::string>>> read_record(const Name& name,
                                                       Deadline deadline) override {
    return records_.read(name, request_deadline(deadline));
  }
  Task<Result<bool>> swap_record(const Name& name, std::optional<std::string> expected,
                                 std::optional<std::string> value, Deadline deadline) override {
    return records_.swap(name, std::move(expected), std::move(value), request_deadline(deadline));
  }
  Task<Result<std::vector<Record>>> list_records(const std::string& prefix,
                                                 Deadline deadline) override {
    return records_.list(prefix, request_deadline(deadline));
  }
  Task<Result<std::optional<WallTime>>> server_time(Deadline deadline) override {
    return records_.server_time(request_deadline(deadline));
  }
  Task<void> close() override;

 private:
  struct Asked {
    std::optional<Grant> grant;
    Busy busy;
    bool foreign = false;
    bool more = false;  // ask again: there was more to do than one script may
    std::string came;   // when it came to the queue, by the server's clock
    Node* node = nullptr;
    std::uint64_t generation = 0;  // of the connection that it was asked on
  };
  using Waiter = std::optional<Node::Waiter>;
  // A claim that a server may have in its queue.
  struct Queued {
    std::vector<std::string> tails;  // the last is the present one; see queue_tail()
    std::string came;                // when, by the server's clock; empty: unknown
    BootTime since{};                // when, by ours
  };

  const redis::Settings& settings() const { return executor_.settings(); }
  Deadline request_deadline(Deadline limit) const { return deadlines_.request(limit); }
  Keys keys_of(const Name& name) const { return Keys(settings().prefix + name.bytes()); }
  static std::string queue_tail(const Claim& claim, const std::string& channel);

  // With a waiter the claim is queued, and the waiter hears pushes from the node that has it.
  Task<Result<Asked>> ask(const Claim& claim, const Keys& keys, Waiter* waiter, Deadline deadline,
                          std::stop_token stop);
  Result<Asked> read_answer(const Claim& claim, const Performed& performed) const;
  // Takes the lock if it is free, in one short script. Nothing if it is not.
  Task<std::optional<Result<Asked>>> take_free(const Claim& claim, const Keys& keys,
                                               const Wait& wait);
  // Adds the arguments by which a waiter keeps its position in the queue; none if it was not queued before.
  void add_position(const Claim& claim, const Node& node, const std::string& tail,
                    Words& arguments);
  // For a reply that no script of ours gives. Its connection is not to be trusted any more.
  static Failure nonsense(Node& node);
  Task<Result<Grant>> wait_in_queue(const Claim& claim, const Keys& keys, const Wait& wait);
  // When a waiter looks again if nothing is pushed.
  Task<BootTime> next_look(const Claim& claim, const Keys& keys, const Asked& asked,
                           Deadline limit);
  // Withdraws the claim by its id, and answers `why`.
  Task<Result<Grant>> give_up(const Claim& claim, Failure why);
  Task<Result<Grant>> granted(const Claim& claim, const Asked& asked);
  Task<void> go_on_serving(const Claim& claim, const Keys& keys, Deadline deadline);

  redis::Examiner examiner_;
  Script take_{redis::take_source(), {}};
  Script acquire_{redis::acquire_source(), {}};
  Script release_{redis::release_source(), {}};
  Script evict_{redis::evict_source(), {}};
  Script inspect_{redis::inspect_source(), {}};
  redis::CommandExecutor executor_;
  redis::Renewals renewals_;
  redis::Records records_;
  const Deadlines deadlines_;
  std::unordered_map<ClaimId, Queued> queued_;
  ContentionHistory recently_contended_;
};

Guarantees guarantees_of(redis::Layout layout) {
  switch (layout) {
    case redis::Layout::single: return redis_guarantees();
    case redis::Layout::sentinel: return redis_sentinel_guarantees();
    case redis::Layout::cluster: return redis_cluster_guarantees();
  }
  return {};
}

RedisEngine::RedisEngine(const redis::Settings& settings, Runtime& runtime,
                         const ClientOptions& options)
    : Engine(runtime),
      examiner_(guarantees_of(settings.layout), settings.layout, options.observer),
      executor_(
          runtime, settings,
          {.questions = redis::greeting(),
           .on_greeted = [this](const auto& answers,
                                const auto& server) { return examiner_.greet(answers, server); }}),
      renewals_(runtime, executor_),
      records_(executor_),
      deadlines_(runtime, settings.request_timeout) {}

// ---- Asking ------------------------------------------------------------------------------------

std::string RedisEngine::queue_tail(const Claim& claim, const std::string& channel) {
  return std::string(letter_of(claim.mode)) + ' ' + std::to_string(claim.permits) + ' ' +
         std::to_string(milliseconds_of(claim.ttl)) + ' ' + channel + ' ' + claim.label;
}

void RedisEngine::add_position(const Claim& claim, const Node& node, const std::string& tail,
                               Words& arguments) {
  // Waiters have found a server that started longer ago than this.
  constexpr Duration kYoung = std::chrono::seconds(5);
  const bool again = asks_again(claim);
  const bool known = queued_.contains(claim.id);
  Queued& queued = queued_[claim.id];
  if (!known) queued.since = claim.since == BootTime() ? runtime().now() : claim.since;
  std::erase(queued.tails, tail);
  if (known || again) {
    const bool lost = (again || !queued.tails.empty()) && node.has_restarted_within(kYoung);
    const auto age =
        std::chrono::duration_cast<std::chrono::microseconds>(runtime().now() - queued.since);
    arguments.add(std::max<std::int64_t>(age.count(), 0))
        .add(queued.came.empty() ? "0" : std::string_view(queued.came))
        .add(lost ? "1" : "0");
    for (const std::string& former : queued.tails) arguments.add(former);
  }
  queued.tails.push_back(tail);
}

Task<Result<RedisEngine::Asked>> RedisEngine::ask(const Claim& claim, const Keys& keys,
                                                  Waiter* waiter, Deadline deadline,
                                                  std::stop_token stop) {
  const auto invocation_for = [&](Node& node) {
    // Before the request leaves: the push can be faster than the reply.
    if (waiter && (!*waiter || &(*waiter)->node() != &node)) {
      waiter->emplace(node, claim, std::string(keys.word()));
    }
    const bool looks = waiter && (queued_.contains(claim.id) || asks_again(claim));
    const std::string tail = queue_tail(claim, node.channel(waiter ? executor_.tag_for(keys) : ""));
    Words arguments;
    arguments.join({claim.id.digits(), " ", claim.label})
        .add(milliseconds_of(claim.ttl))
        .add(letter_of(claim.mode))
        .add(claim.permits)
        .add(looks    ? "2"
             : waiter ? "1"
                      : "0")
        .add(tail);
    if (waiter) add_position(claim, node, tail, arguments);
    return Invocation{&acquire_, &keys, std::move(arguments)};
  };
  const Result<Performed> performed = co_await executor_.perform(
      keys, std::cref(invocation_for), waiter != nullptr, deadline, std::move(stop));
  if (!performed) co_return performed.failure();
  Result<Asked> asked = read_answer(claim, *performed);
  if (asked && waiter && asked->came.size() > 1) {
    Queued& queued = queued_[claim.id];
    if (queued.came.empty()) queued.since = performed->answer.sent_at;
    queued.came = asked->came;
  }
  co_return asked;
}

Failure RedisEngine::nonsense(Node& node) {
  const std::string where = node.endpoint().display();
  node.drop("an answer that makes no sense");
  return Failure(Code::unknown, "Redis at " + where + ": an answer that makes no sense");
}

Result<RedisEngine::Asked> RedisEngine::read_answer(const Claim& claim,
                                                    const Performed& performed) const {
  const Reply& reply = performed.answer.reply;
  Asked asked{.node = performed.node, .generation = performed.answer.generation};
  // No script gives a token that is not about the time.
  constexpr std::int64_t kMinToken = 1'000'000'000'000;
  if (reply.kind == Reply::Kind::integer && reply.number >= kMinToken) {
    const Token token(static_cast<std::uint64_t>(reply.number));
    asked.grant = Grant{token, performed.answer.sent_at, claim.ttl};
    return asked;
  }
  if (reply.items.size() == 2) {
    return other_permits(claim, static_cast<std::uint64_t>(reply.at(1).as_number()));
  }
  if (reply.items.size() != 6 && reply.items.size() != 8) return nonsense(*performed.node);
  const std::string& word = reply.at(2).text;
  const std::optional<redis::WordOwner> owner = redis::owner_of(word);
  const bool group = word.starts_with(redis::kGroupWord);
  // A word that only looks like ours to the script ("12 x" begins as a claim does) is foreign.
  const bool free = word.empty();  // kept for those who waited before a restart, or for the next
  asked.foreign = !free && (reply.at(5).as_number() == 1 || (!owner && !group));
  asked.more = reply.at(6).as_number() == 1;
  asked.came = reply.at(7).text;
  if (!asked.foreign) asked.busy.token = static_cast<std::uint64_t>(reply.at(1).as_number());
  asked.busy.holder = owner    ? owner->label
                      : free   ? "nobody; it waits for its queue to answer"
                      : !group ? redis::kForeignLabel
                               : word.substr(redis::kGroupWord.size());
  if (reply.at(3).as_number() >= 0) {
    asked.busy.expires_in = redis::ttl_of_ms(reply.at(3).as_number());
  }
  asked.busy.rank = static_cast<std::uint64_t>(reply.at(4).as_number());
  return asked;
}

// ---- Acquiring ---------------------------------------------------------------------------------

Task<Result<Grant>> RedisEngine::acquire(const Claim& claim, const Wait& wait) {
  const Keys keys = keys_of(claim.name);
  if (redis::looks_like_sibling(keys.word())) {
    co_return Failure(Code::invalid_argument,
                      "the name '" + claim.name.display() + "' is kept for keys of Holdfast's own");
  }
  // Most locks are free: try first. Where a claim will have to wait, and its node pushes already, asking once
  // and queueing if need be saves a round trip.
  Node* known = executor_.known(keys);
  const bool may_queue = wait.queue && known && known->listening();
  const bool returns = wait.queue && asks_again(claim);  // to its position in the queue
  if (returns || (may_queue && recently_contended_.contains(claim.name, runtime().now()))) {
    co_return co_await wait_in_queue(claim, keys, wait);
  }
  if (wait.stop.stop_requested()) co_return cancelled_by_caller();
  std::optional<Result<Asked>> taken = co_await take_free(claim, keys, wait);
  if (!taken && may_queue) co_return co_await wait_in_queue(claim, keys, wait);
  while (!taken || (*taken && (*taken)->more)) {
    taken = co_await ask(claim, keys, nullptr, deadlines_.answer(wait), wait.stop);
  }
  Result<Asked>& asked = *taken;
  if (!asked && wait.stop.stop_requested())
    co_return co_await give_up(claim, cancelled_by_caller());
  if (!asked) co_return asked.failure();
  if (asked->grant) co_return co_await granted(claim, *asked);
  if (!wait.queue) co_return Failure::busy(std::move(asked->busy));
  co_return co_await wait_in_queue(claim, keys, wait);
}

Task<std::optional<Result<RedisEngine::Asked>>> RedisEngine::take_free(const Claim& claim,
                                                                       const Keys& keys,
                                                                       const Wait& wait) {
  if (claim.mode != Mode::exclusive || claim.ttl > redis::kLongestTaken) co_return std::nullopt;
  const auto taking = [&](Node&) {
    Words arguments;
    arguments.join({claim.id.digits(), " ", claim.label}).add(milliseconds_of(claim.ttl));
    return Invocation{&take_, &keys, std::move(arguments), redis::kKeysOfTake};
  };
  const Result<Performed> performed = co_await executor_.perform(
      keys, std::cref(taking), false, deadlines_.answer(wait), wait.stop);
  if (!performed) co_return Result<Asked>(performed.failure());
  if (performed->answer.reply.is_number(0)) co_return std::nullopt;
  co_return read_answer(claim, *performed);
}

Task<Result<Grant>> RedisEngine::wait_in_queue(const Claim& claim, const Keys& keys,
                                               const Wait& wait) {
  Waiter self;
  bool queued = false;
  Patience patience(runtime().now());
  for (;;) {
    const Deadline limit = deadlines_.answer(wait);
    Result<Asked> asked = co_await ask(claim, keys, &self, limit, wait.stop);
    const BootTime now = runtime().now();
    BootTime look_at = now + runtime().jitter(std::chrono::milliseconds(100));
    if (asked) {
      queued = true;
      patience.answered(now);
      if (asked->grant) co_return co_await granted(claim, *asked);
      recently_contended_.add(claim.name, now);
      look_at = co_await next_look(claim, keys, *asked, limit);
    } else {
      if (wait.stop.stop_requested()) co_return co_await give_up(claim, cancelled_by_caller());
      if (!queued && asked.code() == Code::unreachable) {  // Nothing to withdraw: it never left.
        queued_.erase(claim.id);
        co_return asked.failure();
      }
      if (!queued || !patience.covers(asked.code(), now) || wait.deadline.passed(now)) {
        co_return co_await give_up(claim, asked.failure());
      }
    }
    const Woken woken = co_await self->told.wait(wait.deadline.sooner(look_at), wait.stop);
    self->told.reset();
    if (self->grant) {
      const Grant grant = *std::exchange(self->grant, std::nullopt);
      // Asking again renews a grant that is half over, or that replicas must confirm.
      const bool fresh = runtime().now() < grant.counted_from + grant.ttl / 2;
      if (fresh && settings().wait_replicas == 0) co_return grant;
    } else if (woken == Woken::cancelled) {
      co_return co_await give_up(claim, cancelled_by_caller());
    } else if (wait.deadline.passed(runtime().now())) {
      // (No `?:` in what is awaited: GCC 12 destroys its operands twice.)
      Busy busy;
      if (asked) busy = std::move(asked->busy);
      co_return co_await give_up(claim, Failure::busy(std::move(busy)));
    }
  }
}

Task<BootTime> RedisEngine::next_look(const Claim& claim, const Keys& keys, const Asked& asked,
                                      Deadline limit) {
  // Pushes may be lost, so a waiter also looks for itself: with the jitter after half a ttl at most.
  const Duration behind = std::clamp<Duration>(claim.ttl / 2, std::chrono::milliseconds(100),
                                               std::chrono::seconds(15)) *
                          5 / 6;
  const Duration at_head = std::min<Duration>(behind, std::chrono::seconds(4));
  constexpr Duration kMoment = std::chrono::milliseconds(2);
  constexpr Duration kForeignPoll = std::chrono::milliseconds(20);
  constexpr Duration kForeignLook = std::chrono::milliseconds(500);
  const BootTime now = runtime().now();
  if (asked.more) co_return now + runtime().jitter(kMoment);
  // In a cluster the slot may have moved, and nobody notifies those who wait at its former node.
  const bool may_move = settings().layout == redis::Layout::cluster;
  const bool head = asked.busy.rank == 0;
  BootTime look_at = now + runtime().jitter(head || may_move ? at_head : behind);
  look_at = std::min(look_at, look_after_expiry(asked.busy, now));
  // Clients of another kind do not notify when they release.
  if (asked.foreign && head) {
    const bool watched = co_await asked.node->watch_key(std::string(keys.word()), limit);
    look_at = std::min(look_at, now + runtime().jitter(watched ? kForeignLook : kForeignPoll));
  }
  co_return look_at;
}

Task<Result<Grant>> RedisEngine::give_up(const Claim& claim, Failure why) {
  const Result<bool> withdrawn = co_await release(claim, deadlines_.withdrawal());
  co_return after_withdrawal(why, withdrawn);
}

Task<Result<Grant>> RedisEngine::granted(const Claim& claim, const Asked& asked) {
  executor_.note_write();
  if (settings().wait_replicas == 0) co_return *asked.grant;
  const Deadline deadline = request_deadline(Deadline::never());
  const Result<void> confirmed =
      co_await executor_.replicated(*asked.node, asked.generation, deadline);
  if (confirmed) co_return *asked.grant;
  co_return co_await give_up(claim, confirmed.failure());
}

// ---- Giving back -------------------------------------------------------------------------------

Task<Result<bool>> RedisEngine::release(const Claim& claim, Deadline deadline) {
  const Keys keys = keys_of(claim.name);
  const auto invocation_for = [&](Node&) {
    Invocation invocation{&release_, &keys, {claim.id.digits()}};
    const auto queued = queued_.find(claim.id);
    if (queued == queued_.end()) return invocation;
    for (const std::string& tail : queued->second.tails) invocation.arguments.add(tail);
    return invocation;
  };
  const Result<Performed> performed = co_await executor_.perform(keys, std::cref(invocation_for),
                                                                 false, request_deadline(deadline));
  if (!performed) co_return performed.failure();
  const Reply& reply = performed->answer.reply;
  if (reply.kind != Reply::Kind::integer || reply.number < 0 || reply.number > 3) {
    co_return nonsense(*performed->node);
  }
  queued_.erase(claim.id);
  if (reply.number >= 2) co_await go_on_serving(claim, keys, request_deadline(deadline));
  // Nothing there the second time: the first attempt may have ended it.
  co_return reply.number % 2 == 1 || performed->repeated;
}

// One script does only so much. If this fails, the waiters' own looks go on.
Task<void> RedisEngine::go_on_serving(const Claim& claim, const Keys& keys, Deadline deadline) {
  const auto invocation_for = [&](Node&) {
    return Invocation{&release_, &keys, {claim.id.digits(), ""}};
  };
  for (;;) {
    const Result<Performed> performed =
        co_await executor_.perform(keys, std::cref(invocation_for), false, deadline);
    if (!performed || performed->answer.reply.number < 2 || deadline.passed(runtime().now())) break;
  }
}

// ---- Showing and breaking ----------------------------------------------------------------------

Task<Result<void>> RedisEngine::evict(const Name& name, Token token, Deadline deadline) {
  const Keys keys = keys_of(name);
  const auto invocation_for = [&](Node&) { return Invocation{&evict_, &keys, {token.str()}}; };
  const Result<Performed> performed = co_await executor_.perform(keys, std::cref(invocation_for),
                                                                 false, request_deadline(deadline));
  if (!performed) co_return performed.failure();
  if (performed->answer.reply.as_number() == 1 || performed->repeated) co_return Result<void>();
  co_return not_held_with(name, token);
}

Task<Result<LockInfo>> RedisEngine::inspect(const Name& name, Deadline deadline) {
  const Keys keys = keys_of(name);
  const auto invocation_for = [&](Node&) { return Invocation{&inspect_, &keys, {}}; };
  const Result<Performed> performed = co_await executor_.perform(keys, std::cref(invocation_for),
                                                                 false, request_deadline(deadline));
  if (!performed) co_return unreachable_instead_of_unknown(performed.failure());
  co_return redis::lock_info(name, performed->answer.reply);
}

Task<void> RedisEngine::close() {
  executor_.servers().stop();
  co_return;
}

}  // namespace

Result<std::unique_ptr<Engine>> open_redis_engine(const Url& url, Runtime& runtime,
                                                  const ClientOptions& options) {
  const Result<redis::Settings> settings = redis::settings_from(url, options);
  if (!settings) return settings.failure();
  return std::unique_ptr<Engine>(std::make_unique<RedisEngine>(*settings, runtime, options));
}

}  // namespace holdfast::internal
