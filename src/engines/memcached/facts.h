// Facts that a memcached server tells of itself (`stats`), and findings for locks. Pure, but for ask_facts().
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engines/memcached/settings.h"
#include "holdfast/examination.h"
#include "holdfast/runtime.h"

namespace holdfast::internal::memcached {

struct Facts {
  std::string server;
  std::map<std::string, std::string> values;  // "STAT name value" of `stats` and `stats settings`
  std::optional<ClockDifference> clock;
};

std::map<std::string, std::string> parse_stats(std::string_view answer);

Examination examined(const Facts& facts);

Task<Result<Facts>> ask_facts(Runtime& runtime, const Settings& settings, Deadline deadline);

}  // namespace holdfast::internal::memcached
