// Asked: what a client wants to hold, from the body of its request.
#pragma once

#include <optional>
#include <string>

#include "serve/engines.h"

namespace holdfast::cli::serve {

struct Asked {
  Name name;
  Mode mode = Mode::exclusive;
  std::uint32_t permits = 1;
  Duration ttl = std::chrono::seconds(30);
  Duration patience{};  // zero: does not wait
  std::string label;
  std::string owner;
  BootTime received{};  // the whole request

  // Throws ProblemError.
  static Asked from(const Request& request);

  // Throws LockError, as the client's own calls do.
  LockRequest request_on(Client& client, LockOptions options) const;
  // Tells this claim from others with the same key.
  std::string fingerprint(const std::string& engine) const;
};

// The name in /v1/locks/NAME.
Name name_of(const Request& request);

}  // namespace holdfast::cli::serve
