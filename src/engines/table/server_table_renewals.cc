// How ServerTable keeps what is held.
#include <algorithm>

#include "engines/table/server_table.h"

namespace holdfast::internal::table {

namespace {

Failure not_held(const Claim& claim) {
  return Failure(Code::not_held, "the lock '" + claim.name.display() +
                                     "' is not held by this claim any more: it expired, was "
                                     "released, or was taken away");
}

}  // namespace

Task<std::vector<Result<Grant>>> ServerTable::renew(std::span<const Hold> holds,
                                                    Deadline deadline) {
  constexpr std::size_t kMostTogether = 100;
  constexpr std::size_t kMostRequests = 64;
  std::vector<std::optional<Result<Grant>>> outcomes(holds.size());
  const std::size_t count = holds.size();
  const bool apart = runtime_.now() < apart_until_ && count > 1;
  const std::size_t part =
      std::min(kMostTogether, apart ? (count + kMostRequests - 1) / kMostRequests : count);
  {
    TaskGroup requests(runtime_);
    for (std::size_t begin = 0; begin < count; begin += part) {
      const std::size_t size = std::min(part, count - begin);
      Task<void> request = renew_together(holds.subspan(begin, size),
                                          std::span(outcomes).subspan(begin, size), deadline);
      if (apart) {
        requests.spawn(std::move(request));
      } else {
        co_await std::move(request);
      }
    }
    if (apart) static_cast<void>(co_await requests.join(Deadline::never()));
  }
  std::vector<Result<Grant>> all;
  all.reserve(count);
  for (std::optional<Result<Grant>>& outcome : outcomes) all.push_back(*std::move(outcome));
  co_return all;
}

Task<void> ServerTable::renew_together(std::span<const Hold> holds,
                                       std::span<std::optional<Result<Grant>>> outcomes,
                                       Deadline deadline) {
  constexpr Duration kApart = std::chrono::seconds(10);
  const Dialect& sql = server_.dialect();
  std::vector<SqlStatement> statements;
  for (const Hold& hold : holds) {
    const Claim& claim = hold.claim;
    statements.push_back({claim.mode == Mode::exclusive ? sql.renew_owner : sql.renew_holder,
                          {key_of(claim.name).key, to_value(claim.id),
                           std::int64_t{claim.ttl.count()}, to_row(hold.token)}});
  }
  const Result<Asked> asked =
      co_await requests_.ask(server_.renewals(), std::move(statements), deadline);
  // Perhaps one of the rows is locked, and the others wait behind it.
  if (!asked && holds.size() > 1) apart_until_ = runtime_.now() + kApart;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (!asked) {
      outcomes[i] = asked.failure();
    } else if (asked->outcome.results.at(i).affected == 1) {
      outcomes[i] = Grant{holds[i].token, asked->outcome.sent_at, holds[i].claim.ttl};
    } else {
      outcomes[i] = not_held(holds[i].claim);
    }
  }
}

}  // namespace holdfast::internal::table
