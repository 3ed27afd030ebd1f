#include "engines/table/renewal_requests.h"

#include <algorithm>

namespace holdfast::internal::table {

Task<std::vector<Result<Grant>>> RenewalRequests::renew(std::span<const Hold> holds,
                                                        Deadline deadline) {
  constexpr std::size_t kMaxRequests = 64;
  std::vector<std::optional<Result<Grant>>> outcomes(holds.size());
  const std::size_t count = holds.size();
  const bool apart = runtime_.now() < apart_until_ && count > 1;
  const std::size_t part =
      std::min(most_together_, apart ? (count + kMaxRequests - 1) / kMaxRequests : count);
  {
    TaskGroup requests(runtime_);
    for (std::size_t begin = 0; begin < count; begin += part) {
      const std::size_t size = std::min(part, count - begin);
      Task<void> request = renew_part(holds.subspan(begin, size),
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

Task<void> RenewalRequests::renew_part(std::span<const Hold> holds, Outcomes outcomes,
                                       Deadline deadline) {
  constexpr Duration kApart = std::chrono::seconds(10);
  const bool answered = co_await send_(holds, outcomes, deadline);
  // Perhaps one of the rows is locked, and the others wait behind it.
  if (!answered && holds.size() > 1) apart_until_ = runtime_.now() + kApart;
}

}  // namespace holdfast::internal::table
