// Entrant: a client that takes part in a comparison, as the command that starts a worker (worker.h)
// of it. Peers come from the list that bench/peers/setup makes; its name is in HOLDFAST_PEER_LIST.
#pragma once

#include <string>
#include <vector>

#include "comparison.h"

namespace holdfast::bench {

struct Entrant {
  std::string name;
  Role role = Role::peer;
  std::vector<std::string> command;  // the URL comes after it
  std::string url = {};              // another one than the server's
};

// Those for a system ("redis"). None if there is no list.
std::vector<Entrant> installed_peers(const std::string& system);

}  // namespace holdfast::bench
