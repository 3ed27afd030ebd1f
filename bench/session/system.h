// System: a lock server of which clients keep sessions (ZooKeeper, etcd), and who is compared on it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "comparison.h"
#include "entrant.h"

namespace holdfast::bench {

// One server, or several that are one.
class Servers {
 public:
  virtual ~Servers() = default;
  virtual std::string url() const = 0;  // of all of them, as Holdfast has it
  // Of one: a follower if there are several. Who is timed alone goes there, so that all have the
  // same way to the leader.
  virtual std::string single_url() const = 0;
  virtual std::vector<pid_t> processes() const = 0;
  // Events sent to watchers so far, by all of them.
  virtual double events() const = 0;
  // Requests and other messages of clients so far, to all of them.
  virtual double commands() const = 0;
};

struct System {
  std::string title;  // "ZooKeeper 3.8.0"
  std::string peer;   // "Curator"
  // How workers are started; the URL comes after it. No words: it is not there, and left out.
  std::vector<std::string> our_command;
  std::vector<std::string> raw_command;
  std::vector<std::string> peer_command;
  std::string raw_what;  // "create + delete"
  std::string event_what;

  // Bars for ratios of times, where there is one.
  std::optional<double> pair_of_peer;
  std::optional<double> pair_of_raw;
  double hand_off_of_peer;

  std::string name;                    // in the list of installed peers: "zookeeper"
  std::vector<Entrant> programs = {};  // peers that need no installation
  // For the workload "peers": pairs a second, gap and changes of owner, of the peer named.
  std::vector<Claim> pair_claims;
  std::vector<Claim> gap_claims;
  std::vector<Claim> owner_claims;
};

}  // namespace holdfast::bench
