// Options of a client and of a lock. Plain values with sensible defaults: name those that differ, {.ttl = 12h}.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "holdfast/engine.h"
#include "holdfast/export.h"
#include "holdfast/observer.h"

namespace holdfast {

// The promises that a lock must be able to keep. Checked against the engine when the lock object is made, and against the
// server that answers (see Examination) before the first acquire asks it for the lock, and after each grant: if this
// server cannot give it, acquire fails with Code::unsupported and holds nothing. Client::examine() tells sooner.
struct Requirements {
  Exclusion exclusion = Exclusion::best_effort;
  TokenStrength token = TokenStrength::none;
};

struct ClientOptions {
  // This client's label, as others see it in `holdfast ls`. Default: default_label().
  std::string label{};
  // How long one request to the engine may take before its outcome counts as unknown.
  Duration request_timeout = std::chrono::seconds(5);
  // How long a lease's destructor and Client::close() may take at most.
  Duration release_timeout = std::chrono::seconds(2);
  std::shared_ptr<Observer> observer{};
};

// The label of a client that is given none: "user@host pid program", with the user's name from the system.
HOLDFAST_API std::string default_label();

struct LockOptions {
  // How long the lock outlives a holder that vanished. Renewed every third of it while held.
  Duration ttl = std::chrono::seconds(30);
  // How long before the lock can end lost() is triggered. Default: a tenth of the ttl, at most 5 s.
  std::optional<Duration> warn_before{};
  // Held at least so long from its grant: a lock that is given back sooner stays held until then, and so does one whose
  // holder died (then for at least a ttl). Unsupported where a lock ends with its connection.
  Duration keep{};
  // False: no background renewal; the lease ends after one ttl unless renew() is called.
  bool auto_renew = true;
  Requirements require{};
};

}  // namespace holdfast
