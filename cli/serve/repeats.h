// Repeats: requests with an Idempotency-Key. A client that got no answer sends the same request again, and must not
// take the lock twice.
//
//   in this daemon        the repeated request joins the first one, or gets its lease
//   after a new start,    the claim's id is derived from the key, so the engine knows it: it answers with the hold that
//   or by another daemon  the first request got
//
// An attempt that was cancelled (everybody who had asked was gone) leaves its claim id behind: a withdrawal that is
// still under way must not end the hold of the next attempt. That is counted here, and forgotten with the daemon.
//
// How it could go wrong: two clients that use one key share one hold. So keys are long, and the derived id contains
// whose claim it is.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>

#include "serve/leases.h"

namespace holdfast::cli::serve {

// One request, asked by one or more connections.
struct Attempt {
  std::string fingerprint;
  unsigned number = 0;  // how many were cancelled before
  bool over = false;    // the outcome is here
  std::size_t askers = 0;
  std::shared_ptr<KeptLease> kept;  // granted
  std::optional<Failure> failure;   // not granted
  std::stop_source stop;
  std::shared_ptr<net::steady_timer> done;  // cancelled when it is over
};

class Repeats {
 public:
  explicit Repeats(net::io_context& context) : context_(context) {}

  // The attempt of this key; a new one if there is none, or the last one took nothing. Throws ProblemError if the key was
  // used for something else, or its lease has ended.
  std::shared_ptr<Attempt> attempt(const std::string& key, const std::string& fingerprint,
                                   bool& is_new);
  // The outcome is there.
  void end(Attempt& attempt);

  // Why this is no key.
  static std::optional<std::string> problem_with(const std::string& key);

 private:
  void forget_some();

  net::io_context& context_;
  std::unordered_map<std::string, std::shared_ptr<Attempt>> attempts_;
  std::deque<std::string> oldest_;
};

}  // namespace holdfast::cli::serve
