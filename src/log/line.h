// How a line of the log is written. Pure: the time is given.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "holdfast/log.h"

namespace holdfast::internal {

// A pipe takes so much as a whole (PIPE_BUF): lines of several processes and threads never mix.
inline constexpr std::size_t kMaxLogLine = 4096;

struct LogRecord {
  LogLevel level;
  std::string_view event;
  std::span<const LogField> fields;
  std::chrono::system_clock::time_point time;
};

// At most kMaxLogLine - 1 bytes, without the end of the line.
std::string log_text(LogFormat format, const LogRecord& record);

}  // namespace holdfast::internal
