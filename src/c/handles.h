// The opaque handles of holdfast/c.h, and how a function of it turns C++ outcomes into C ones.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/c.h"
#include "holdfast/client.h"
#include "holdfast/fence.h"

struct hf_error {
  holdfast::Failure failure;
};

struct hf_client {
  holdfast::Client client;
};

struct hf_cancel {
  std::stop_source source;
  pid_t process = getpid();
};

struct hf_lock {
  holdfast::LockRequest request;
};

namespace holdfast::c {

// The callback of a lease that is lost.
struct OnLost {
  void (*lost)(void*);
  void* data;
  void operator()() const noexcept { lost(data); }
};
using LostCallback = std::stop_callback<OnLost>;

}  // namespace holdfast::c

struct hf_lease {
  explicit hf_lease(holdfast::Lease granted);
  ~hf_lease();
  hf_lease(const hf_lease&) = delete;
  hf_lease& operator=(const hf_lease&) = delete;

  // Mutexes may be held by threads that the child does not have.
  bool forked() const { return process != getpid(); }
  // Takes the lease out, for a call that ends it. Empty after that.
  holdfast::Lease take();
  void put_back(holdfast::Lease kept);

  const holdfast::Name name;
  const holdfast::Token token;
  const holdfast::Mode mode;
  const pid_t process = getpid();
  std::mutex calls;          // held during renew() and detach(), which take time
  mutable std::mutex state;  // guards the next two; held for moments
  holdfast::Lease lease;
  std::vector<std::unique_ptr<holdfast::c::LostCallback>> callbacks;
};

struct hf_locks {
  std::vector<holdfast::LockInfo> all;
};

struct hf_fence {
  holdfast::FenceGate gate;
};

struct hf_pass {
  holdfast::FenceGate::Pass pass;
};

namespace holdfast::c {

// The code of a failure, and the failure itself for those who asked for it.
hf_code report(const Failure& failure, hf_error** error) noexcept;
// The exception that is being handled.
hf_code report_current(hf_error** error) noexcept;

inline Failure invalid(const std::string& why) { return {Code::invalid_argument, why}; }
Failure forked_lease();

// REQUIRES of a caller who may be in another language: an argument that must be there.
template <class T>
T& given(T* argument, const char* what) {
  if (!argument) throw LockError(invalid(std::string(what) + " is NULL"));
  return *argument;
}

inline std::string_view bytes(const char* data, std::size_t length, const char* what) {
  if (!data && length > 0) throw LockError(invalid(std::string(what) + " is NULL"));
  return data ? std::string_view(data, length) : std::string_view();
}

// Runs the body of a function of the C interface, which returns a Result<void>. No exception leaves it.
template <class F>
hf_code guarded(hf_error** error, F&& body) noexcept {
  if (error) *error = nullptr;
  try {
    const Result<void> outcome = std::forward<F>(body)();
    return outcome ? HF_OK : report(outcome.failure(), error);
  } catch (...) {
    return report_current(error);
  }
}

// The same for a function that makes an object: `body` returns a Result of what it is made of.
template <class Handle, class F>
hf_code making(Handle** made, hf_error** error, F&& body) noexcept {
  if (made) *made = nullptr;
  return guarded(error, [&]() -> Result<void> {
    given(made, "the pointer for the result");
    auto parts = std::forward<F>(body)();
    if (!parts) return parts.failure();
    *made = new Handle{std::move(parts).value()};
    return {};
  });
}

// A structure of the caller's, who may know fewer fields than we, or more.
template <class T>
T read_options(const T* given_options) {
  T options{};
  options.size = sizeof options;
  if (!given_options) return options;
  const std::size_t size = given_options->size;
  if (size < sizeof(std::size_t)) {
    throw LockError(invalid("options without their size: set .size to sizeof of the structure"));
  }
  const char* from = reinterpret_cast<const char*>(given_options);
  for (std::size_t i = sizeof options; i < size; ++i) {
    if (from[i] != 0) {
      throw LockError(Failure(Code::unsupported,
                              "an option is set that this version of the library does not know; "
                              "install a newer libholdfast"));
    }
  }
  std::memcpy(&options, from, std::min(size, sizeof options));
  options.size = sizeof options;
  return options;
}

// Fills as much of the caller's structure as the caller knows.
template <class T>
void fill(T& out, T values) {
  values.size = out.size;
  std::memcpy(&out, &values, std::min(out.size, sizeof values));
}

Duration to_duration(std::int64_t ms);
std::int64_t to_ms(Duration duration);
std::int64_t to_ms(const std::optional<Duration>& duration);
Mode to_mode(hf_mode mode);
hf_mode from_mode(Mode mode);
Exclusion to_exclusion(hf_exclusion exclusion);
TokenStrength to_strength(hf_token_strength strength);
LockOptions to_options(const hf_lock_options& options);

}  // namespace holdfast::c
