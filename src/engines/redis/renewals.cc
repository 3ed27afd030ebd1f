#include "engines/redis/renewals.h"

#include <algorithm>
#include <map>

#include "engines/kit/failures.h"

namespace holdfast::internal::redis {

Result<Grant> Renewals::renewal(const Hold& hold, const Result<Answer>& answer) const {
  if (!answer) return answer.failure();
  const Reply& reply = answer->reply;
  if (reply.kind != Reply::Kind::integer || reply.number < 0 || reply.number > 1) {
    return Failure(Code::unknown, "Redis: an answer to a renewal that makes no sense");
  }
  if (reply.number == 1) return Grant{hold.token, answer->sent_at, hold.claim.ttl};
  return no_longer_held(hold.claim.name);
}

Keys Renewals::renewal_keys(const Hold& hold) const {
  const bool alone = hold.claim.mode == Mode::exclusive;
  return Keys(executor_.settings().prefix + hold.claim.name.bytes(), alone ? 2 : 5);
}

Invocation Renewals::renewal_of(const Hold& hold, const Keys& keys) {
  Script& script = hold.claim.mode == Mode::exclusive ? keep_ : renew_;
  Words arguments{hold.claim.id.digits()};
  arguments.add(milliseconds_of(hold.claim.ttl));
  return {&script, &keys, std::move(arguments)};
}

Task<Result<Grant>> Renewals::renew_one(const Hold& hold, Deadline deadline) {
  const Keys keys = renewal_keys(hold);
  const auto invocation_for = [&](Node&) { return renewal_of(hold, keys); };
  Result<CommandExecutor::Performed> performed =
      co_await executor_.perform(keys, std::cref(invocation_for), false, deadline);
  if (!performed) co_return performed.failure();
  const Result<void> confirmed =
      co_await executor_.replicated(*performed->node, performed->answer.generation, deadline);
  if (!confirmed) co_return confirmed.failure();
  co_return renewal(hold, performed->answer);
}

Task<void> Renewals::renew_alone(const Hold& hold, Deadline deadline, Result<Grant>& outcome) {
  outcome = co_await renew_one(hold, deadline);
}

Task<void> Renewals::renew_at(Node& node, std::vector<Renewing> batch, Deadline deadline) {
  std::vector<Keys> keys;
  std::vector<Invocation> invocations;
  keys.reserve(batch.size());
  invocations.reserve(batch.size());
  for (const Renewing& each : batch) {
    keys.push_back(renewal_keys(*each.hold));
    invocations.push_back(renewal_of(*each.hold, keys.back()));
  }
  const std::vector<Result<Answer>> answers = co_await node.run_all(invocations, deadline);
  const std::uint64_t generation = answers.back() ? answers.back()->generation : 0;
  const Result<void> confirmed = co_await executor_.replicated(node, generation, deadline);
  TaskGroup again(runtime_);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (answers[i] && answers[i]->reply.is_error()) {  // moved, perhaps
      again.spawn(renew_alone(*batch[i].hold, deadline, *batch[i].outcome));
    } else {
      *batch[i].outcome = confirmed ? renewal(*batch[i].hold, answers[i]) : confirmed.failure();
    }
  }
  static_cast<void>(co_await again.join(Deadline::never()));
}

Task<void> Renewals::renew_in_parts(Node& node, std::vector<Renewing> all, Deadline deadline) {
  // Enough to hide the way to the server, and little enough for its buffers and ours.
  constexpr std::size_t kPart = 500;
  // One alone at first: from then on the server knows the script, and the others need not bring it.
  std::size_t size = 1;
  for (auto first = all.begin(); first != all.end(); size = kPart) {
    const auto left = static_cast<std::size_t>(all.end() - first);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(size, left));
    std::vector<Renewing> part(first, last);
    co_await renew_at(node, std::move(part), deadline);
    first = last;
  }
}

Task<std::vector<Result<Grant>>> Renewals::renew(std::span<const Hold> holds, Deadline deadline) {
  std::vector<Result<Grant>> outcomes;
  if (holds.size() == 1) {
    outcomes.push_back(co_await renew_one(holds.front(), deadline));
    co_return outcomes;
  }
  outcomes.assign(holds.size(), Failure(Code::unreachable, "not asked"));
  std::map<Node*, std::vector<Renewing>> batches;
  TaskGroup group(runtime_);
  for (std::size_t i = 0; i < holds.size(); ++i) {
    Node* node =
        executor_.likely(Keys(executor_.settings().prefix + holds[i].claim.name.bytes(), 1));
    if (node) {
      batches[node].push_back({&holds[i], &outcomes[i]});
    } else {  // Nobody knows where it is.
      group.spawn(renew_alone(holds[i], deadline, outcomes[i]));
    }
  }
  // All at the same time: a node that hangs must not cost the leases on the others.
  for (auto& [node, batch] : batches)
    group.spawn(renew_in_parts(*node, std::move(batch), deadline));
  static_cast<void>(co_await group.join(Deadline::never()));
  co_return outcomes;
}

}  // namespace holdfast::internal::redis
