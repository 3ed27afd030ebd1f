// RenewalRequests: renews many holds by few requests. A row that somebody keeps locked delays the renewal of no other:
// after a request that got no answer, holds are renewed in small groups for a while, side by side. Inside the loop
// only.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "holdfast/engine.h"

namespace holdfast::internal::table {

class RenewalRequests {
 public:
  using Outcomes = std::span<std::optional<Result<Grant>>>;
  // Fills in all outcomes by one request. False if it got no answer.
  using Send = std::function<Task<bool>(std::span<const Hold>, Outcomes, Deadline)>;

  // `most_together`: holds in one request.
  RenewalRequests(Runtime& runtime, std::size_t most_together, Send send)
      : runtime_(runtime), most_together_(most_together), send_(std::move(send)) {}

  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline);

 private:
  Task<void> renew_part(std::span<const Hold> holds, Outcomes outcomes, Deadline deadline);

  Runtime& runtime_;
  const std::size_t most_together_;
  const Send send_;
  BootTime apart_until_{};  // until then in small groups
};

}  // namespace holdfast::internal::table
