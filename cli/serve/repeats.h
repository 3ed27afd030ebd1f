// Repeats: requests with an Idempotency-Key. A client that got no answer sends the same request again, and must not
// take the lock twice.
//
//   in this daemon        the repeated request joins the first one, or gets its lease
//   after a new start,    half of a claim's id is derived from the key: a holder whose id says so is the hold that the
//   or by another daemon  first request got; it is renewed, and its lease is the answer
//
// The other half of the id is drawn for each attempt: a withdrawal of one that was cancelled ends no other.
//
// How it could go wrong: two clients that use one key share one hold. So keys are long, and the id contains what is
// asked for. Or a daemon withdraws its claim (its client has gone) in the moment in which it is granted, and another one
// takes the hold for its own: so holds are recalled that have lasted for a moment.
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
  std::string fingerprint;  // what is asked for; short
  bool over = false;        // the outcome is here
  std::size_t askers = 0;
  std::shared_ptr<KeptLease> kept;          // granted
  std::optional<Failure> failure;           // not granted
  std::stop_source stop;                    // triggered when nobody asks any more
  std::shared_ptr<net::steady_timer> done;  // cancelled when it is over, or somebody leaves

  bool was_left() const { return over && failure && stop.stop_requested(); }
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
  // Until it is, or the asker has gone. An attempt that nobody asks for any more is cancelled.
  Awaitable<void> outcome(std::shared_ptr<Attempt> attempt, std::stop_token gone);

  // Why this is no key.
  static std::optional<std::string> problem_with(const std::string& key);

 private:
  void forget_some();

  net::io_context& context_;
  std::unordered_map<std::string, std::shared_ptr<Attempt>> attempts_;
  std::deque<std::string> oldest_;
};

}  // namespace holdfast::cli::serve
