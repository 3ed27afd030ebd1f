// Facts that a Redis server tells of itself, and what follows for locks. Pure: examiner.h asks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/redis/reply.h"
#include "engines/redis/settings.h"
#include "holdfast/examination.h"

namespace holdfast::internal::redis {

// The value of "FIELD:value" in an INFO reply; empty if there is none.
std::string info_field(std::string_view info, std::string_view field);

struct Facts {
  Layout layout = Layout::single;
  bool in_quorum = false;  // one of many: after a restart it does not vote until that is safe
  std::string server;      // where it is
  std::string info;        // all sections that were asked for
  std::optional<std::string> appendfsync;  // nothing: we may not ask
  // Its errors for a script, and for a question about channels.
  std::string script_error;
  std::string channel_error;
};

// The questions that a connection asks when it is opened, in one write with the login.
std::vector<Words> greeting();
// The facts in the answers to them, one each.
Facts facts_from(const std::vector<Reply>& answers, Layout layout, std::string server);

Examination examined(const Facts& facts);

}  // namespace holdfast::internal::redis
