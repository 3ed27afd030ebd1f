// Whether a job is due: the decision apart from everything that reads and writes. Pure.
#pragma once

#include "holdfast/once.h"

namespace holdfast::internal {

// `now` is of the clock that decides. misconfigured if the record is of a period so far ahead that a clock must be
// wrong by more than a day: to take it for done would silence the job for as long.
Result<Due> decide(const Name& name, const Period& period, const std::optional<Job>& last,
                   WallTime now, bool even_if_failed);

// The run that begins now because the job is due.
Job begin_job(const Due& due, const Period& period, const ClaimId& run, Token token,
              const std::string& label, WallTime now);

// The meaning of a difference between two clocks, for people, if it is more than a second; `uncertain`: how far it may
// be off.
std::optional<std::string> clock_note(Duration engine_minus_ours, Duration uncertain);

}  // namespace holdfast::internal
