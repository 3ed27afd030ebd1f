#include "lab/sim/fault.h"

namespace holdfast::lab::sim {

const char* to_text(FaultKind kind) {
  switch (kind) {
    case FaultKind::loss: return "lost messages";
    case FaultKind::duplication: return "doubled messages";
    case FaultKind::slow: return "slow messages";
    case FaultKind::drift: return "clocks that run apart";
    case FaultKind::client_skew: return "clients whose wall clocks differ";
    case FaultKind::client_pause: return "pauses of clients";
    case FaultKind::client_cut: return "partitions";
    case FaultKind::one_way_cut: return "one-way partitions";
    case FaultKind::client_crash: return "crashes of clients";
    case FaultKind::client_jump: return "jumps of clients' clocks";
    case FaultKind::server_pause: return "pauses of servers";
    case FaultKind::server_jump: return "jumps of servers' clocks";
    case FaultKind::server_restart: return "restarts with data";
    case FaultKind::server_wipe: return "restarts without data";
    case FaultKind::server_restore: return "restarts with older data";
    case FaultKind::eviction: return "evictions";
    case FaultKind::failover: return "failovers";
    case FaultKind::leader_change: return "changes of the leader";
    case FaultKind::unsafe_rejoin: return "rejoining without silence";
  }
  return "?";
}

}  // namespace holdfast::lab::sim
