// Held: a claim that holds, or may hold, its lock in a session. Inside the loop only.
#pragma once

#include <memory>
#include <stop_token>
#include <unordered_map>

#include "engines/session/session.h"

namespace holdfast::internal::session {

struct Held {
  Held(Claim the_claim, Key the_key) : claim(std::move(the_claim)), key(std::move(the_key)) {}

  Claim claim;
  Key key;
  std::shared_ptr<Session> session;
  Token token;
  BootTime counted_from;  // when the last request left whose answer said that it is held
  bool confirming = false;
  std::stop_source over;  // ends the one who watches it

  BootTime expires() const { return counted_from + claim.ttl; }
};

using Holds = std::unordered_map<ClaimId, std::shared_ptr<Held>>;

}  // namespace holdfast::internal::session
