// How a job is written into an engine's record, and read again: lines that a person can read in the store.
//
//   holdfast-job 1
//   state done
//   period 2026-11-19T02:00:00.000000Z 2026-11-20T02:00:00.000000Z
//   schedule 1d at 03:00 in Europe/Berlin
//   by alice@db1 pid 812: ./report
//   run 5f3c…
//   token 17
//   attempt 1
//   started 2026-11-19T02:00:01.250000Z
//   ended 2026-11-19T02:04:11.000000Z
//   status 0
//
// `ended` and `status` are left out where there are none. Anything else is no job. Pure.
#pragma once

#include <string>
#include <string_view>

#include "holdfast/once.h"

namespace holdfast::internal {

inline constexpr std::size_t kMaxLabelBytes = 256;

// At most kMaxRecordBytes, whatever the label.
std::string format_job(const Job& job);
// misconfigured, with the reason.
Result<Job> parse_job(const Name& name, std::string_view record);

// "2026-11-19T02:00:00.000000Z"
std::string format_time(WallTime moment);
std::optional<WallTime> parse_time(std::string_view text);

}  // namespace holdfast::internal
