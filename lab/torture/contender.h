// Contender: one way in which a client of the laboratory takes the lock: as the library does it, or
// as naive recipes of the literature do. These are here to be caught, never to be used.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "holdfast/ids.h"
#include "holdfast/result.h"
#include "holdfast/time.h"

namespace holdfast::lab {

struct Ask {
  Duration ttl{};
  Duration patience{};  // zero: does not wait
  bool renew = true;
  bool shared = false;  // as a reader; of the shipped library only
};

class Contender {
 public:
  virtual ~Contender() = default;
  virtual Result<Token> acquire(const Ask& ask) = 0;
  virtual bool held() = 0;
  virtual Result<void> release() = 0;
};

// Things that happen to a lease behind its holder's back.
struct LeaseEvents {
  std::function<void()> renewed;
  std::function<void()> lost;
};

// `recipe`:
//   holdfast        the shipped library, on any engine
//   unchecked       SET NX PX on Redis, and never a look at the clock
//   plain-del       the same with the clock, released by a DEL that asks nobody
//   setnx-expire    SETNX, then EXPIRE; it can stop in between (see `between`)
//   setnx-getset    SETNX of an expiry time by the client's own clock, taken over with GETSET
//   table-without-expiry   a row in PostgreSQL or MariaDB that nothing ends
// Throws LockError.
std::unique_ptr<Contender> make_contender(const std::string& recipe, const std::string& url,
                                          const std::string& lock_name, LeaseEvents events,
                                          std::function<void()> between);

}  // namespace holdfast::lab
