// Judge: lets two holders work on a number that the lock protects, and says what came of it.
//
// Each adds 1: it reads the number, then writes what it read plus 1. The Judge plays every order of
// the four steps, each on a number of its own, once without a fence and once with one that checks
// reads and writes; they are harmed if in any order an update that was acknowledged is not in the
// number at the end.
//
//   without a fence           with the fence
//   A reads 0                 A reads(33) 0
//   B reads 0                 B reads(34) 0
//   A writes 1  ✓             A writes(33) 1  ✗ stale_token
//   B writes 1  ✓             B writes(34) 1  ✓
//   two updates, 1: harm      one update, 1: right
//
// The three verdicts are never merged: an overlap need not do harm, and a fence prevents the harm,
// not the overlap.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "holdfast/holdfast.h"
#include "redis_server.h"

namespace holdfast::scenarios {

struct Verdict {
  bool overlap = false;             // both believed at one moment that they hold the lock
  bool harm_without_fence = false;  // an acknowledged update was lost
  bool harm_with_fence = false;     // the same, although the fence asked for tokens
  bool operator==(const Verdict&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Verdict& verdict);

inline constexpr Verdict kSafe{};
// What a fence is for.
inline constexpr Verdict kOverlapWithoutHarmToTheFenced{.overlap = true,
                                                        .harm_without_fence = true};

class Judge {
 public:
  Judge();

  // Who works as a holder: an honest one asks held() before each step, and stops if it is false.
  // Its token is shown to the fence.
  struct Worker {
    std::function<bool()> held;
    Token token;
  };
  // A lease that was not granted is a worker who never holds anything.
  static Worker worker(const Lease& lease);
  static Worker worker(const Result<Lease>& lease);

  Verdict judge(const Worker& a, const Worker& b);

 private:
  bool harmed(const Worker& a, const Worker& b, bool fenced);
  bool loses_updates(const std::string& order, const Worker& a, const Worker& b, bool fenced);

  // A server of its own: the resource is not one of the lock's nodes.
  test::RedisServer resource_;
  RedisFence fence_;
  int numbers_ = 0;
};

}  // namespace holdfast::scenarios
