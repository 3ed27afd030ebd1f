#include "engines/redlock/redis_voter.h"

#include <algorithm>

#include "engines/redis/command_executor.h"
#include "engines/redis/lock_view.h"

namespace holdfast::internal::redlock {

using quorum::Ballot;
using quorum::Proposal;
using quorum::Standing;
using redis::Answer;
using redis::Invocation;
using redis::Keys;
using redis::milliseconds_of;
using redis::Reply;
using redis::Words;

namespace {

const char* letter_of(Mode mode) { return mode == Mode::exclusive ? "x" : "s"; }

// Adds the word that a vote writes.
void add_word_of(const Claim& claim, const Proposal& proposal, Words& arguments) {
  const std::string attempt = std::to_string(proposal.attempt);
  arguments.join({claim.id.digits(), " ", attempt, " ", claim.label});
}

// "3 label" -> "label"
std::string without_attempt(const std::string& label) {
  const std::size_t digits = label.find_first_not_of("0123456789");
  const bool there = digits != 0 && digits != std::string::npos && label[digits] == ' ';
  return there ? label.substr(digits + 1) : label;
}

std::string field_of(const std::string& info, const std::string& field) {
  const std::size_t at = info.find("\n" + field + ":");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + field.size() + 2;
  return info.substr(begin, info.find('\r', begin) - begin);
}

}  // namespace

Identity Identity::from(const std::string& info) {
  // Valkey calls it by another name.
  const std::string mode = field_of(info, "redis_mode");
  return Identity{.run_id = field_of(info, "run_id"),
                  .role = field_of(info, "role"),
                  .mode = mode.empty() ? field_of(info, "server_mode") : mode,
                  .keeps_data = field_of(info, "aof_enabled") == "1",
                  .evicts = redis::evicting_policy(info).value_or("")};
}

RedisVoter::RedisVoter(Runtime& runtime, const redis::Settings& settings, Scripts& scripts,
                       Duration node_timeout, std::function<void()> on_identity)
    : runtime_(runtime),
      endpoint_(settings.endpoints.front()),
      prefix_(settings.prefix),
      marker_key_(settings.prefix + "holdfast:redlock"),
      scripts_(scripts),
      node_timeout_(node_timeout) {
  redis::ConnectionSettings connection = settings.connection;
  connection.info = "default";
  node_ = std::make_unique<redis::Node>(runtime, connection, redis::always_at(endpoint_),
                                        settings.request_timeout);
  node_->connection().on_info = [this, told = std::move(on_identity)](const std::string& info) {
    identity_ = Identity::from(info);
    identified_on_ = node_->connection().generation();
    told();
  };
}

// ---- Reaching it -------------------------------------------------------------------------------

bool RedisVoter::responsive() {
  redis::Connection& connection = node_->connection();
  if (!connection.unresponsive(node_timeout_)) return true;
  connection.begin_to_open();  // It counts again as soon as it is back.
  return false;
}

Task<Result<void>> RedisVoter::ready(Deadline deadline) {
  if (!node_->connection().connected()) {
    Result<void> opened = co_await node_->connection().open(deadline);
    if (!opened) co_return opened;
  }
  if (std::optional<Failure> why = unfit()) co_return *why;
  co_return Result<void>();
}

// Only independent masters can vote.
std::optional<Failure> RedisVoter::unfit() const {
  const auto failure = [&](const std::string& why) {
    return Failure(Code::misconfigured, display() + ": " + why);
  };
  if (identity_.run_id.empty() || !knows_process()) {
    return failure("it does not tell who it is; the user needs the right to INFO");
  }
  if (identity_.mode == "sentinel") return failure("it is a sentinel, not a master");
  if (identity_.mode == "cluster") {
    return failure("it is a node of a cluster; Redlock needs independent masters");
  }
  if (identity_.role != "master") {
    return failure("it is a " + identity_.role +
                   ", not a master; Redlock needs independent masters");
  }
  return std::nullopt;
}

Task<Result<Answer>> RedisVoter::ask(redis::Script& script, const Keys& keys,
                                     redis::Words arguments, Deadline deadline,
                                     std::size_t key_count) {
  // A later request must not be overtaken by this one: it is sent now or not at all.
  if (!node_->connection().connected()) {
    co_return Failure(Code::unreachable, display() + ": not connected");
  }
  Invocation invocation{&script, &keys, std::move(arguments), key_count};
  Result<Answer> answer = co_await node_->run(std::move(invocation), false, deadline);
  if (answer && answer->reply.is_error()) {
    co_return node_->connection().refused(answer->reply);
  }
  co_return answer;
}

// ---- Voting ------------------------------------------------------------------------------------

std::string RedisVoter::queue_entry_of(const Claim& claim) const {
  // Long enough for the waiter to hear of it and to ask.
  const Duration keep = std::min<Duration>(claim.ttl, 2 * node_timeout_);
  return std::string(letter_of(claim.mode)) + " 1 " + std::to_string(milliseconds_of(keep)) + ' ' +
         node_->channel() + " 0 " + claim.label;
}

std::string RedisVoter::arrival_of(const quorum::Ticket& ticket) const {
  using std::chrono::microseconds;
  if (!ticket) return "0";
  const auto age = std::chrono::duration_cast<microseconds>(runtime_.now() - ticket->at);
  const auto wall = std::chrono::duration_cast<microseconds>(ticket->wall.time_since_epoch());
  return std::to_string(std::max<std::int64_t>(age.count(), 0)) + ' ' +
         std::to_string(std::max<std::int64_t>(wall.count(), 0));
}

Task<Ballot> RedisVoter::vote(const Claim& claim, const Proposal& proposal, Deadline deadline) {
  const std::int64_t ttl_ms = milliseconds_of(claim.ttl);
  if (marker_known() &&
      (!votes() || marker_.epoch != proposal.era || ttl_ms > marker_.longest_ms)) {
    // A node that rejoins is looked at from time to time; see the electorate.
    co_return closed();
  }
  // Tokens up to the floor of a refounding get no vote, whoever proposes them.
  if (proposal.token <= marker_.floor || !knows_process()) co_return closed();
  const std::uint64_t connection = identified_on_;
  const Keys keys = keys_of(claim.name);
  bool asked_twice = false;
  if (claim.mode == Mode::exclusive && !proposal.ticket && !proposal.held) {
    std::optional<Ballot> taken = co_await take(claim, proposal, keys, deadline);
    if (taken) co_return std::move(*taken);
    asked_twice = true;
    if (identified_on_ != connection || !votes()) co_return closed();
  }
  Words arguments;
  add_word_of(claim, proposal, arguments);
  arguments.add(ttl_ms).add(proposal.token).add(marker_.text).add(letter_of(claim.mode));
  arguments.add(arrival_of(proposal.ticket)).add(queue_entry_of(claim)).add(proposal.held ? 1 : 0);
  const Result<Answer> answer = co_await ask(scripts_.vote, keys, std::move(arguments), deadline);
  Ballot ballot = ballot_of(answer, connection);
  ballot.resent = ballot.resent || asked_twice;
  co_return ballot;
}

Task<std::optional<Ballot>> RedisVoter::take(const Claim& claim, const Proposal& proposal,
                                             const Keys& keys, Deadline deadline) {
  constexpr std::size_t kKeys = 4;
  const std::uint64_t connection = identified_on_;
  Words arguments;
  add_word_of(claim, proposal, arguments);
  arguments.add(milliseconds_of(claim.ttl)).add(proposal.token).add(marker_.text);
  const Result<Answer> answer =
      co_await ask(scripts_.take, keys, std::move(arguments), deadline, kKeys);
  const bool more =
      answer && answer->reply.kind == Reply::Kind::integer && answer->reply.number == 0;
  if (more) co_return std::nullopt;
  co_return ballot_of(answer, connection);
}

Task<Ballot> RedisVoter::fence(const Claim& claim, const Proposal& proposal, Deadline deadline) {
  if (!votes() || marker_.epoch != proposal.era || proposal.token <= marker_.floor ||
      !knows_process()) {
    co_return closed();
  }
  const std::uint64_t connection = identified_on_;
  const Keys keys = keys_of(claim.name);
  Words arguments{claim.id.digits()};
  arguments.add(proposal.token).add(marker_.text);
  arguments.add(letter_of(claim.mode));
  const Result<Answer> answer = co_await ask(scripts_.fence, keys, std::move(arguments), deadline);
  co_return ballot_of(answer, connection);
}

Ballot RedisVoter::ballot_of(const Result<Answer>& answer, std::uint64_t connection) {
  Ballot ballot;
  if (answer && answer->generation != connection) {
    ballot.kind = Ballot::Kind::silent;  // It may be a vote, but of another process.
    ballot.why = display() + ": it was connected to anew meanwhile";
    return ballot;
  }
  if (!answer) {
    ballot.kind = answer.code() == Code::unknown ? Ballot::Kind::silent : Ballot::Kind::unreachable;
    ballot.code = answer.code();
    ballot.why = answer.message();
    return ballot;
  }
  const Reply& reply = answer->reply;
  ballot.resent = answer->resent;
  const std::string& word = reply.at(0).text;
  const auto number = [&](std::size_t index) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(reply.at(index).as_number(), 0));
  };
  if (reply.kind == Reply::Kind::integer && reply.number == 1) {
    ballot.kind = Ballot::Kind::locked;
    ballot.accepted = true;
    ballot.sent_at = answer->sent_at;
  } else if (word == "low" && reply.items.size() == 4) {
    ballot.kind = Ballot::Kind::locked;
    ballot.fence = number(1);
    ballot.most = number(2);
    ballot.own = reply.at(3).as_number() == 1;
    ballot.sent_at = answer->sent_at;
  } else if (word == "busy" && reply.items.size() == 5) {
    ballot.kind = Ballot::Kind::busy;
    ballot.fence = number(1);
    ballot.holder = reply.at(2).text;
    const std::optional<redis::WordOwner> owner = redis::owner_of(ballot.holder);
    const bool group = ballot.holder.starts_with(redis::kGroupWord);
    ballot.foreign = !owner && !group;
    ballot.busy.token = ballot.foreign ? 0 : ballot.fence;
    ballot.busy.holder = owner    ? without_attempt(owner->label)
                         : !group ? redis::kForeignLabel
                                  : ballot.holder.substr(redis::kGroupWord.size());
    if (reply.at(3).as_number() >= 0) {
      ballot.busy.expires_in = redis::ttl_of_ms(reply.at(3).as_number());
    }
    ballot.busy.rank = number(4);
  } else if (word == "closed" && reply.items.size() == 2) {
    if (take_marker(reply.at(1).text)) return closed();
    ballot.kind = Ballot::Kind::unreachable;
    ballot.code = Code::misconfigured;
    ballot.why = no_marker().message();
  } else if (word == "gone" && reply.items.size() == 1) {
    ballot.kind = Ballot::Kind::unreachable;
    ballot.why = display() + ": its vote has ended";
  } else {
    return nonsense();
  }
  return ballot;
}

Ballot RedisVoter::closed() const {
  Ballot ballot;
  ballot.kind = Ballot::Kind::closed;
  if (!votes()) {
    ballot.why = display() + ": it " + absence();
  }
  return ballot;
}

Ballot RedisVoter::nonsense() {
  Ballot ballot;
  ballot.kind = Ballot::Kind::silent;  // It may have been executed.
  ballot.why = display() + ": an answer that makes no sense";
  node_->drop("an answer that makes no sense");
  return ballot;
}

// ---- Keeping and giving back -------------------------------------------------------------------

Task<std::vector<Result<Standing>>> RedisVoter::renew(std::vector<Hold> holds, Deadline deadline) {
  std::vector<Result<Standing>> outcomes;
  outcomes.reserve(holds.size());
  if (!node_->connection().connected()) {
    outcomes.assign(holds.size(), Failure(Code::unreachable, display() + ": not connected"));
    co_return outcomes;
  }
  std::vector<Keys> keys;
  std::vector<Invocation> invocations;
  keys.reserve(holds.size());
  invocations.reserve(holds.size());
  for (const Hold& hold : holds) {
    keys.push_back(keys_of(hold.claim.name));
    Words arguments{hold.claim.id.digits()};
    arguments.add(milliseconds_of(hold.claim.ttl)).add(hold.token.value());
    arguments.add(letter_of(hold.claim.mode));
    invocations.push_back({&scripts_.renew, &keys.back(), std::move(arguments)});
  }
  const std::vector<Result<Answer>> answers = co_await node_->run_all(invocations, deadline);
  for (const Result<Answer>& answer : answers) {
    if (!answer) {
      outcomes.emplace_back(answer.failure());
      continue;
    }
    const Reply& reply = answer->reply;
    if (reply.is_error()) {
      outcomes.emplace_back(node_->connection().refused(reply));
    } else if (reply.kind != Reply::Kind::integer || reply.number < 0 || reply.number > 2) {
      outcomes.emplace_back(
          Failure(Code::unknown, display() + ": an answer to a renewal that makes no sense"));
    } else {
      const auto kind = reply.number == 1   ? Standing::Kind::held
                        : reply.number == 2 ? Standing::Kind::free
                                            : Standing::Kind::lost;
      outcomes.emplace_back(Standing{kind, answer->sent_at});
    }
  }
  co_return outcomes;
}

Task<Result<bool>> RedisVoter::release(const Claim& claim, const Return& how, Deadline deadline) {
  const Keys keys = keys_of(claim.name);
  if (how.was_free) {
    std::optional<Result<bool>> given = co_await give(claim, how, keys, deadline);
    if (given) co_return std::move(*given);
  }
  Words arguments{claim.id.digits(), arrival_of(how.ticket), queue_entry_of(claim)};
  arguments.add(how.attempt);
  const Result<Answer> answer =
      co_await ask(scripts_.release, keys, std::move(arguments), deadline);
  if (!answer) co_return answer.failure();
  co_return answer->reply.as_number() == 1;
}

Task<std::optional<Result<bool>>> RedisVoter::give(const Claim& claim, const Return& how,
                                                   const Keys& keys, Deadline deadline) {
  const Keys two = Keys::of({keys.all.at(0), keys.all.at(3)});
  Words arguments{claim.id.digits()};
  arguments.add(how.attempt);
  const Result<Answer> answer = co_await ask(scripts_.give, two, std::move(arguments), deadline);
  if (!answer) co_return Result<bool>(answer.failure());
  if (answer->reply.as_number() == 1) co_return Result<bool>(true);
  co_return std::nullopt;
}

Task<Result<bool>> RedisVoter::evict(const Name& name, Token token, Deadline deadline) {
  const Keys keys = keys_of(name);
  Words arguments;
  arguments.add(token.value());
  const Result<Answer> answer = co_await ask(scripts_.evict, keys, std::move(arguments), deadline);
  if (!answer) co_return answer.failure();
  co_return answer->reply.as_number() == 1;
}

Task<Result<LockInfo>> RedisVoter::inspect(const Name& name, Deadline deadline) {
  const Keys keys = keys_of(name);
  const Result<Answer> answer = co_await ask(scripts_.inspect, keys, {}, deadline);
  if (!answer) co_return answer.failure();
  LockInfo info = redis::lock_info(name, answer->reply);
  for (HolderInfo& holder : info.holders) {
    if (holder.id != ClaimId()) holder.label = without_attempt(holder.label);
  }
  for (WaiterInfo& waiter : info.waiters) waiter.label = without_attempt(waiter.label);
  co_return info;
}

Task<Result<std::vector<Name>>> RedisVoter::names(const std::string& prefix, Deadline deadline) {
  const std::string wanted = prefix_ + prefix;
  const Result<Fences> all = co_await fences(deadline);
  if (!all) co_return all.failure();
  std::vector<Name> names;
  for (const auto& [key, value] : *all) {
    const std::optional<std::string> name = redis::name_of_sibling_key(key, 'r');
    if (!name || !name->starts_with(wanted)) continue;
    const std::string bare = name->substr(prefix_.size());
    if (!Name::problem_with(bare)) names.emplace_back(bare);
  }
  co_return names;
}

// ---- Hearing -----------------------------------------------------------------------------------

class RedisVoter::QueuedWaiter final : public quorum::Voter::Waiter {
 public:
  QueuedWaiter(redis::Node& node, const Claim& claim, std::string key, Event& told)
      : waiter_(node, claim, std::move(key), &told) {}
  bool has_turn() const override { return waiter_.grant.has_value(); }
  bool take_turn() override { return std::exchange(waiter_.grant, std::nullopt).has_value(); }

 private:
  redis::Node::Waiter waiter_;
};

Task<Result<void>> RedisVoter::listen(Deadline deadline, std::stop_token stop) {
  return node_->listen(deadline, std::move(stop));
}

std::unique_ptr<quorum::Voter::Waiter> RedisVoter::enqueue(const Claim& claim, Event& told) {
  return std::make_unique<QueuedWaiter>(*node_, claim, prefix_ + claim.name.bytes(), told);
}

Task<bool> RedisVoter::watch(const Name& name, Deadline deadline) {
  const std::string key = prefix_ + name.bytes();  // It must outlive the call.
  co_return co_await node_->watch_key(key, deadline);
}

}  // namespace holdfast::internal::redlock
