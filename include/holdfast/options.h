// Options of a client and of a lock. Plain values with sensible defaults: name those that differ, {.ttl = 12h}.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "holdfast/engine.h"
#include "holdfast/export.h"
#include "holdfast/observer.h"
#include "holdfast/short_text.h"

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
  // The owner of this client's claims, unless LockOptions::owner names another: 1 to 40 of letters, digits and . _ - : @ /
  // Default: HOLDFAST_OWNER (which `holdfast run` sets for its command), else drawn at random for each client.
  std::string owner{};
  // How long one request to the engine may take before its outcome counts as unknown.
  Duration request_timeout = std::chrono::seconds(5);
  // How long a lease's destructor and Client::close() may take at most.
  Duration release_timeout = std::chrono::seconds(2);
  std::shared_ptr<Observer> observer{};
  // False: Client::open() does not heed HOLDFAST_LOG: this program logs in its own way, by log_observer() (log.h).
  bool log_from_environment = true;
};

// The label of a client that is given none: "user@host pid program", with the user's name from the system.
HOLDFAST_API std::string default_label();

// HOLDFAST_OWNER, if that can be an owner; else 12 hexadecimal digits, drawn at random at each call.
HOLDFAST_API std::string default_owner();

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
  // Instead of the client's label. (An election's candidates are shown by their value.)
  ShortText<256> label{};
  // Instead of the client's owner: whoever takes several locks for one purpose, and gives them back together. Where one
  // client serves many, each of them; where one program has clients of several engines, the same for all. Only clients
  // that name owners alike are found to wait for each other across engines (find_deadlocks()).
  ShortText<40> owner{};
  // Drawn at random by the caller, who keeps it: a call that is repeated with the same id, label and owner, from this
  // process or another, gets the hold that the first one got, and never a second one. REQUIRES: one call at a time; not used again once the
  // hold has ended or a call was cancelled. If the outcome is unknown, ask again with the same id; the hold is not
  // cleaned up, and ends by its ttl. Not for several locks at once.
  std::optional<ClaimId> claim{};
  // The hold outlives this process, until its ttl ends: a Handle made from it can be adopted elsewhere. Unsupported where
  // a lock ends with its connection.
  bool outlives_process = false;
};
// `co_await client.mutex("x", {.ttl = 1s}).async_acquire()` depends on it: see short_text.h.
static_assert(std::is_trivially_copyable_v<LockOptions>);

}  // namespace holdfast
