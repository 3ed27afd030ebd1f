// Which of several database servers to use, decided from what they say of themselves. Pure.
//
// How this can go wrong, and what keeps it from that:
//   a replica          is never chosen while it says that it can only be read, even if the user could write to it.
//   two primaries      (an old one that nobody fenced) PostgreSQL's timelines tell which was promoted later: once a later
//                      one was seen, also by a standby, an older one is never chosen, even if it alone answers.
//                      Where nothing tells, new clients choose neither, and those that use one keep it.
//   a writable replica (MySQL without read_only) is not chosen while a server is missing that may be the primary.
//   foreign servers    of another cluster are refused: their locks exclude nobody here.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "holdfast/result.h"

namespace holdfast::internal {

// One server, as it describes itself.
struct ServerState {
  bool writable = false;
  bool replicates = false;  // it applies the changes of another server
  std::string id;           // identifies the server, whatever its address
  std::string cluster;      // the same for all servers that replicate one another; empty: not known
  std::int64_t timeline = 0;  // grows with each promotion; 0: not known
};

struct ServerAnswer {
  std::string where;
  std::optional<ServerState> state;
  std::optional<Failure> failure;  // neither: it has not answered yet
};

// The latest timeline that any of them knows of.
std::int64_t latest_timeline(std::span<const ServerAnswer> answers);

// Which of them to use. `in_use`: the one that this client uses already. `seen`: the latest timeline that it has seen.
// unreachable: none for now, with the reason for each. misconfigured: none until somebody mends it.
Result<std::size_t> choose_server(std::span<const ServerAnswer> answers,
                                  std::optional<std::size_t> in_use, std::int64_t seen = 0);

}  // namespace holdfast::internal
