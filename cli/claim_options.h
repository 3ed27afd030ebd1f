// The claim of `run` and `acquire`: name, mode, ttl and patience, from options to a request.
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
  std::string name;
  std::string ttl = "30s";
  std::optional<std::string> wait;    // none: as long as it takes
  std::optional<std::string> wait_s;  // as flock(1) takes it
  bool no_wait = false;
  bool shared = false;
  bool exclusive = false;
  std::uint32_t permits = 0;  // 0: not a semaphore
  std::optional<std::string> label;
  int conflict_status = kBusy;
  bool quiet = false;

  void add_to(CLI::App& command);
};

// Checked. Made before anything is forked, opened or sent, so that a typing error costs nothing.
struct ClaimPlan {
  explicit ClaimPlan(Name what) : name(std::move(what)) {}

  Name name;
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

  // Throws LockError, as Client's own calls do.
  LockRequest request(Client& client) const;
  Wait wait(std::stop_token stop) const;
  // Says why there is no lock, and returns the exit status.
  int fail(const Session& session, const Failure& failure) const;
};

}  // namespace holdfast::cli
