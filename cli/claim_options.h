// The claim of `run` and `acquire`: name, mode, ttl and patience, from options to a request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "holdfast/client.h"

namespace CLI {
class App;
}

namespace holdfast::cli {

// As typed.
struct ClaimOptions {
  std::string name;
  std::string ttl = "30s";
  std::optional<std::string> wait;  // none: as long as it takes
  bool no_wait = false;
  bool shared = false;
  std::uint32_t permits = 0;  // 0: not a semaphore

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

  static Result<ClaimPlan> from(const ClaimOptions& options);

  // Throws LockError, as Client's own calls do.
  LockRequest request(Client& client) const;
  Wait wait(std::stop_token stop) const;
};

}  // namespace holdfast::cli
