// System: a lock server of the benchmark's own, or a file, and who is compared on it. One file per system;
// registry.cc lists them.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "entrant.h"
#include "league.h"
#include "report.h"
#include "standard.h"

namespace holdfast::bench {

// How much is measured.
struct Plan : BasicPlan {
  int waiters = 1000;      // that want one lock at the same time, at most
  int idle_waiters = 200;  // that wait while nothing happens
  int leases = 100'000;    // held at the same time
  Seconds held_span{11};   // how long held leases and idle waiters are watched
  std::vector<int> nodes;  // on how many servers; empty: as the system likes
  int server_cpu = 0;      // the server's, where it is pinned; equal on a machine with one CPU
  int client_cpu = 0;

  // A smoke run: everything happens once and shortly. Its figures mean little.
  void make_quick() {
    repetitions = 1;
    span = Seconds(0.1);
    waiters = 64;
    idle_waiters = 64;
    leases = 1000;
    held_span = Seconds(1);
  }
};

// Clients that are compared with each other by the standard workloads.
struct Division {
  std::vector<Entrant> entrants;  // ours first
  StandardPlan standard = {};
};

// Something that a server counts for clients.
struct ServerCounter {
  std::string what;  // "commands", "watches that fired"
  std::function<double()> value;
  // Statistics arrive this late at most; what is later than a second suits idle waiters only.
  Seconds delay{0};
  std::optional<double> most_per_hand_off = {};  // the target
};

class System {
 public:
  virtual ~System() = default;

  virtual std::string title() const = 0;  // "Redis 7.0.15"
  virtual bool keeps_data() const { return true; }

  // The URL for clients. For pairs of one client: a server that is not the leader, if there are several,
  // so that all clients have the same way to the leader.
  virtual std::string url() const = 0;
  virtual std::string single_url() const { return url(); }
  // Of the servers; empty if they come and go with connections.
  virtual std::vector<pid_t> processes() const { return {}; }
  // Forgets all locks.
  virtual void flush() const {}
  // Counts what clients sent during a function, and the server's work for a hand-off, where it can be counted.
  virtual CountDuring commands() const { return {}; }
  virtual std::optional<ServerCounter> counter() const { return std::nullopt; }

  virtual std::vector<Division> divisions() const = 0;

  // Of the crowd: none where waiters poll.
  virtual std::vector<double> growth_at_most() const { return {1.3}; }
  virtual std::optional<double> renewal_percent_at_most() const { return std::nullopt; }
  // Workloads of this system alone, by name.
  struct Extra {
    std::string name;
    std::function<void(const Plan&, Report&)> measure;
  };
  virtual std::vector<Extra> extras() const { return {}; }
};

struct SystemKind {
  std::string name;  // "redis": of the command line
  std::function<std::unique_ptr<System>(int nodes)> start;
  // Workers of the system (worker.h) by name; each obeys stdin until it ends, and returns the exit status.
  std::map<std::string, int (*)(const std::string& url)> workers = {};
  std::vector<int> nodes{1};  // on so many servers, one after the other
  bool pinned = true;  // the server to one CPU, clients to another; false: it needs more than one
  int most_waiters = 1000;
  int most_leases = 100'000;
};

// Those that this build has.
const std::vector<SystemKind>& systems();

// An entrant whose worker is this program: "raw" of SYSTEM, or "holdfast" of any.
Entrant own_entrant(std::string name, Role role, const std::string& system,
                    const std::string& worker, std::string url = {});
inline Entrant holdfast_entrant(std::string url = {}, std::string name = "Holdfast") {
  return own_entrant(std::move(name), Role::ours, "any", "holdfast", std::move(url));
}
// Holdfast, the raw client, and the installed peers of the system.
std::vector<Entrant> all_entrants(const std::string& system, const std::string& raw_name);

}  // namespace holdfast::bench
