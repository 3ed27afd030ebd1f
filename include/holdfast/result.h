// The outcome of a call. A lock call has four outcomes, never two:
//
//   granted  the value is there
//   busy     somebody else holds it; not an error
//   unknown  the request left and no answer came: it may have been executed. Never read this as
//            "no": Holdfast has already begun to clean up by the claim's id
//   error    it did not happen; `message()` says what to do
//
// A function that returns a Result does not throw, but for what its own arguments throw (a name that is none) and
// what a function of yours that it calls throws. A client, lease or fence that was moved from is Code::closed.
//
// Thread safety: a Result is a value.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "holdfast/export.h"

namespace holdfast {

enum class Outcome { granted, busy, unknown, error };

enum class Code {
  busy,              // held by somebody else, and the wait (if any) is over
  unknown,           // sent, but not answered
  cancelled,         // the caller's stop_token was triggered; nothing is left behind
  not_held,          // this claim does not hold the lock (any more)
  invalid_argument,  // the caller's value is wrong: name, ttl, URL, permits
  unsupported,       // this engine cannot do that (see Guarantees)
  misconfigured,     // the store is not usable as it is: permissions, corrupt, network file system
  unreachable,       // the store did not answer or refused for now
  forked,            // the client belongs to the parent process
  closed,            // the client, lease or mutex was closed or moved from
  would_deadlock,    // a blocking call from inside the client's own loop
  stale_token,       // a fence has seen a newer token
  exhausted,         // this process may not start a thread or open a descriptor: raise its limits
};

// "not_held" for Code::not_held, and so on: stable, for logs and JSON.
HOLDFAST_API const char* code_name(Code code);

// The holders in the way.
struct Busy {
  std::string lock{};       // the lock's name, for people; filled in by the client
  std::string holder{};     // the holder's label, as printable(); may be empty
  std::uint64_t rank = 0;   // how many waiters were ahead of us
  std::uint64_t token = 0;  // the token of (one of) the present holders; 0 if not known
  // How long the present grant can still last if it is not renewed.
  std::optional<std::chrono::nanoseconds> expires_in{};
};

class HOLDFAST_API Failure {
 public:
  // Escapes in `message` what is not printable(): names, labels and a server's words come from
  // strangers, and messages go to terminals and logs.
  Failure(Code code, std::string message);
  static Failure busy(Busy who);

  Code code() const { return code_; }
  // One line, safe to print; never a password.
  const std::string& message() const { return message_; }
  // Set only when code() is busy.
  const Busy* busy() const { return busy_.get(); }

  Outcome outcome() const {
    if (code_ == Code::busy) return Outcome::busy;
    return code_ == Code::unknown ? Outcome::unknown : Outcome::error;
  }

 private:
  Code code_;
  std::string message_;
  std::shared_ptr<const Busy> busy_;
};

// Thrown by the calls that have no Result to return: constructors, lock(), value().
class HOLDFAST_API LockError : public std::runtime_error {
 public:
  explicit LockError(Failure failure)
      : std::runtime_error(failure.message()), failure_(std::move(failure)) {}
  const Failure& failure() const { return failure_; }
  Code code() const { return failure_.code(); }

 private:
  Failure failure_;
};

namespace internal {

// Empty.
HOLDFAST_API const std::string& no_message();

}  // namespace internal

// A T, or the reason why there is none. Expected-like; std::expected needs C++23.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}            // NOLINT
  Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  Outcome outcome() const { return ok() ? Outcome::granted : failure().outcome(); }

  // REQUIRES: ok(). value() throws LockError otherwise.
  T& value() & { return check(), std::get<0>(state_); }
  const T& value() const& { return check(), std::get<0>(state_); }
  T value() && { return check(), std::move(std::get<0>(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // REQUIRES: !ok() (std::bad_variant_access).
  const Failure& failure() const { return std::get<1>(state_); }
  Code code() const { return failure().code(); }
  // Empty if ok().
  const std::string& message() const { return ok() ? internal::no_message() : failure().message(); }

 private:
  void check() const {
    if (!ok()) throw LockError(failure());
  }

  std::variant<T, Failure> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Failure failure) : failure_(std::move(failure)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !failure_.has_value(); }
  explicit operator bool() const { return ok(); }
  Outcome outcome() const { return ok() ? Outcome::granted : failure().outcome(); }

  void value() const {
    if (!ok()) throw LockError(failure());
  }
  // REQUIRES: !ok() (std::bad_optional_access).
  const Failure& failure() const { return failure_.value(); }
  Code code() const { return failure().code(); }
  // Empty if ok().
  const std::string& message() const { return ok() ? internal::no_message() : failure().message(); }

 private:
  std::optional<Failure> failure_;
};

}  // namespace holdfast
