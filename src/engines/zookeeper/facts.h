// The facts that ZooKeeper servers report (`srvr`), and what they mean for locks. Pure, but for ask_facts().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engines/zookeeper/settings.h"
#include "holdfast/examination.h"
#include "holdfast/runtime.h"

namespace holdfast::internal::zookeeper {

struct ServerFacts {
  std::string server;   // where it is
  std::string version;  // "3.8.0"; empty if it does not say
  std::string mode;     // standalone, leader, follower, observer
  std::string problem;  // why nothing is known of it
};

// From the answer to `srvr`.
ServerFacts parse_srvr(std::string_view answer, std::string server);

Examination examined(const std::vector<ServerFacts>& servers);

// Asks every server of the URL, each on a connection of its own. unreachable if none answers.
Task<Result<std::vector<ServerFacts>>> ask_facts(Runtime& runtime, const Settings& settings,
                                                 Deadline deadline);

}  // namespace holdfast::internal::zookeeper
