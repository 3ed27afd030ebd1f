// Renewals: keeps holds alive, many at a time, at all their servers at once. Inside the loop only.
#pragma once

#include <span>
#include <vector>

#include "engines/redis/command_executor.h"
#include "holdfast/engine.h"

namespace holdfast::internal::redis {

class Renewals {
 public:
  Renewals(Runtime& runtime, CommandExecutor& executor) : runtime_(runtime), executor_(executor) {}

  // As Engine::renew().
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline);

 private:
  // A hold that is being renewed, and where to say how it went.
  struct Renewing {
    const Hold* hold;
    Result<Grant>* outcome;
  };
  Keys renewal_keys(const Hold& hold) const;
  Invocation renewal_of(const Hold& hold, const Keys& keys);
  Task<Result<Grant>> renew_one(const Hold& hold, Deadline deadline);
  Task<void> renew_alone(const Hold& hold, Deadline deadline, Result<Grant>& outcome);
  Task<void> renew_at(Node& node, std::vector<Renewing> batch, Deadline deadline);
  Task<void> renew_in_parts(Node& node, std::vector<Renewing> all, Deadline deadline);
  Result<Grant> renewal(const Hold& hold, const Result<Answer>& answer) const;

  Runtime& runtime_;
  CommandExecutor& executor_;
  Script keep_{keep_source(), {}};
  Script renew_{renew_source(), {}};
};

}  // namespace holdfast::internal::redis
