// Facts that an etcd member tells of itself and its cluster, and findings for locks. Pure, but for examine().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/etcd/cluster.h"
#include "holdfast/examination.h"

namespace holdfast::internal::etcd {

// The answer to Maintenance/Status.
struct Status {
  std::string version;
  std::uint64_t leader = 0;
  std::int64_t size_bytes = 0;
  std::vector<std::string> errors;
  bool learner = false;
};
std::optional<Status> decode_status(std::string_view bytes);
// How many members a Cluster/MemberList names.
std::size_t count_members(std::string_view bytes);
// The alarms of a Maintenance/Alarm: 1 no space, 2 corrupt.
std::vector<int> decode_alarms(std::string_view bytes);

struct Facts {
  std::string server;
  Status status;
  std::size_t members = 0;  // 0: unknown
  std::vector<int> alarms;
};

Examination examined(const Facts& facts);

// Asks the member that calls go to.
Task<Result<Facts>> ask_facts(Cluster& cluster, std::string server, Deadline deadline);

}  // namespace holdfast::internal::etcd
