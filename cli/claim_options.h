// The claim of `run` and `acquire`: names, mode, ttl and patience, from options to a request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/client.h"
#include "session.h"

namespace CLI {
class App;
}

namespace holdfast::cli {

// As typed.
struct ClaimOptions {
  std::vector<std::string> names;
  std::string ttl = "30s";
  std::optional<std::string> wait;    // none: as long as it takes
  std::optional<std::string> wait_s;  // as flock(1) takes it
  bool no_wait = false;
  bool shared = false;
  bool exclusive = false;
  std::uint32_t permits = 0;  // 0: not a semaphore
  std::optional<std::string> label;
  std::optional<std::string> owner;
  int conflict_status = kBusy;
  bool quiet = false;
  std::optional<std::string> otlp;

  void add_to(CLI::App& command);
};

// Checked. Made before anything is forked, opened or sent, so that a typing error costs nothing.
struct ClaimPlan {
  // In the order in which the user gave them; a name may come twice.
  std::vector<Name> names;
  Mode mode = Mode::exclusive;
  std::uint32_t permits = 1;
  LockOptions lock;
  std::optional<Duration> patience;  // zero: try once; none: as long as it takes
  std::string label;
  int conflict_status = kBusy;
  bool quiet = false;

  // `command` is what will run under the lock; it is part of the label unless --label is given.
  static Result<ClaimPlan> from(const ClaimOptions& options,
                                const std::vector<std::string>& command = {});

  // Each name once, in the order in which every claim takes them: no two claims wait for each other.
  std::vector<Name> sorted_names() const;
  // These throw LockError, as Client's own calls do. REQUIRES: `wanted` is sorted, no name twice.
  LockRequest request(Client& client, const Name& name) const;
  MultiLock request_all(Client& client, const std::vector<Name>& wanted) const;
  Wait wait(std::stop_token stop) const;
  // Says why there is no lock, and returns the exit status.
  int fail(const Session& session, const Failure& failure) const;
};

}  // namespace holdfast::cli
